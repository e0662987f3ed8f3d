#pragma once
// A tile of memory turned: rows become columns, through registers.
#include "types.h"

namespace litz {

/// Interleaves two vectors: the first halves, then the second halves.
template <class V> LITZ_INLINE void interleave(V a, V b, V& first, V& second) {
  constexpr int N = lanes<V>;
  if constexpr (N == 4) {
    first = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    second = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  } else if constexpr (N == 8) {
    first = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    second = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  } else {
    static_assert(N == 16);
    first = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    second = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  }
}

/// N vectors of N lanes, turned in place.
template <class V, int N> LITZ_INLINE void transpose_vectors(V (&r)[N]) {
  V s[N];
  if constexpr (N == 8 && sizeof(V) == 32) {  // two halves of four lanes: shuffles inside them, one exchange at the end
    for (int i = 0; i < 8; i += 2) {
      s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
      s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4) {
      r[i] = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      r[i + 1] = __builtin_shufflevector(s[i], s[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
      r[i + 2] = __builtin_shufflevector(s[i + 1], s[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
      r[i + 3] = __builtin_shufflevector(s[i + 1], s[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) {
      s[i] = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
      s[i + 4] = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int i = 0; i < 8; i++) r[i] = s[i];
  } else {
    for (int step = 1; step < N; step *= 2) {
      for (int i = 0; i < N / 2; i++) interleave(r[i], r[i + N / 2], s[2 * i], s[2 * i + 1]);
      for (int i = 0; i < N; i++) r[i] = s[i];
    }
  }
}

/// to[column * to_stride + row] = from[row * from_stride + column]; M is an integer as wide as the element.
template <class M> LITZ_SLOW void transpose_tile(M* to, i64 to_stride, const M* from, i64 from_stride, i64 rows, i64 columns) {
  constexpr int N = sizeof(M) == 8 ? 4 : sizeof(M) == 1 ? 16 : 8;
  using V = Vec<M, N>;
  i64 column = 0;
#pragma clang loop unroll(disable)
  for (; column + N <= columns; column += N) {  // along rows of `to` first: its lines are written whole
    i64 row = 0;
#pragma clang loop unroll(disable)
    for (; row + N <= rows; row += N) {
      V r[N];
      for (int j = 0; j < N; j++) __builtin_memcpy(&r[j], from + (row + j) * from_stride + column, sizeof(V));
      transpose_vectors(r);
      for (int j = 0; j < N; j++) __builtin_memcpy(to + (column + j) * to_stride + row, &r[j], sizeof(V));
    }
#pragma clang loop unroll(disable)
    for (; row < rows; row++)
      for (int j = 0; j < N; j++) to[(column + j) * to_stride + row] = from[row * from_stride + column + j];
  }
#pragma clang loop unroll(disable)
  for (; column < columns; column++)
#pragma clang loop unroll(disable)
    for (i64 row = 0; row < rows; row++) to[column * to_stride + row] = from[row * from_stride + column];
}

}  // namespace litz
