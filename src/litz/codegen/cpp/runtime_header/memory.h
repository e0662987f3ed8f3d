#pragma once
// Loads and stores: whole steps, the first n lanes, masked, strided, and by offset. Dead and masked lanes touch no
// memory: not a byte past the last live element is read or written. Addresses need the alignment of one element only.
// Dead lanes of a load hold `other` (0 unless given). Offsets and strides count elements, not bytes.
#include "convert.h"
#include "lane_reduction.h"
#include "masked_access.h"

namespace litz {

// ---- raw elements (Memory<T>) ----

template <class M, int W>
LITZ_INLINE Vec<M, W> load_raw(Full<W>, const M* p) {
  Vec<M, W> v;
  __builtin_memcpy(&v, p, sizeof(M) * W);
  return v;
}
template <class M, int W>
LITZ_INLINE void store_raw(Full<W>, M* p, Vec<M, W> v) {
  __builtin_memcpy(p, &v, sizeof(M) * W);
}

// The first n elements, in chunks of the powers of two of which n is the sum.
template <int W, class M>
LITZ_INLINE void copy_first(M* to, const M* from, i32 n) {
  static_assert(W <= 256);
  i32 at = 0;
  if constexpr (W >= 256)
    if (n & 256) {
      __builtin_memcpy(to, from, 256 * sizeof(M));
      at = 256;
    }
  if constexpr (W >= 128)
    if (n & 128) {
      __builtin_memcpy(to + at, from + at, 128 * sizeof(M));
      at += 128;
    }
  if constexpr (W >= 64)
    if (n & 64) {
      __builtin_memcpy(to + at, from + at, 64 * sizeof(M));
      at += 64;
    }
  if constexpr (W >= 32)
    if (n & 32) {
      __builtin_memcpy(to + at, from + at, 32 * sizeof(M));
      at += 32;
    }
  if constexpr (W >= 16)
    if (n & 16) {
      __builtin_memcpy(to + at, from + at, 16 * sizeof(M));
      at += 16;
    }
  if constexpr (W >= 8)
    if (n & 8) {
      __builtin_memcpy(to + at, from + at, 8 * sizeof(M));
      at += 8;
    }
  if constexpr (W >= 4)
    if (n & 4) {
      __builtin_memcpy(to + at, from + at, 4 * sizeof(M));
      at += 4;
    }
  if constexpr (W >= 2)
    if (n & 2) {
      __builtin_memcpy(to + at, from + at, 2 * sizeof(M));
      at += 2;
    }
  if (n & 1) __builtin_memcpy(to + at, from + at, sizeof(M));
}
template <class M, int W>
LITZ_INLINE Vec<M, W> load_raw(Tail<W> l, const M* p) {
  if constexpr (has_masked_access<M, W>) return masked_load<M, W>(p, first_lanes<W>(l.n));
  else {
    M buffer[W] = {};
    copy_first<W>(buffer, p, l.n);
    return load_raw(Full<W>{}, buffer);
  }
}
template <class M, int W>
LITZ_INLINE void store_raw(Tail<W> l, M* p, Vec<M, W> v) {
  if constexpr (has_masked_access<M, W>) masked_store<M, W>(p, v, first_lanes<W>(l.n));
  else {
    M buffer[W];
    store_raw(Full<W>{}, buffer, v);
    copy_first<W>(p, buffer, l.n);
  }
}

// Lane by lane at p[at[j]]: straight code for whole steps, else a loop over the live lanes that `chosen` admits, so
// that rare code stays small. `at` is a Stride or an Offsets, `chosen` a mask in memory or null.
struct Stride {
  i64 step;
  template <int W>
  LITZ_BODY Stride in_memory() const {
    return *this;
  }
  LITZ_BODY i64 operator[](int j) const { return j * step; }
};
template <class O, int W>
struct OffsetArray {
  O at[W];
  LITZ_BODY i64 operator[](int j) const { return (i64)at[j]; }
};
template <class V>
struct Offsets {
  V v;
  template <int W>
  LITZ_BODY OffsetArray<Element<V>, W> in_memory() const {
    return __builtin_bit_cast(OffsetArray<Element<V>, W>, v);
  }
  LITZ_BODY i64 operator[](int j) const { return (i64)lane(v, j); }
};
template <class V>
LITZ_INLINE Offsets<V> offsets(V v) {
  return {v};
}
template <int W>
LITZ_INLINE i32 live_count(Full<W>) {
  return W;
}
template <int W>
LITZ_INLINE i32 live_count(Tail<W> l) {
  return l.n;
}
template <class L>
inline constexpr bool is_full = false;
template <int W>
inline constexpr bool is_full<Full<W>> = true;

template <class M, class L, class At>
LITZ_INLINE Vec<M, L::width> load_lanes(L l, const M* p, At at) {
  constexpr int W = L::width;
  Vec<M, W> v = 0;
  if constexpr (W == 1) {
    if (live_count(l) > 0) v = p[at[0]];
  } else if constexpr (is_full<L>) {
    LITZ_UNROLLED
    for (int j = 0; j < W; j++) v[j] = p[at[j]];
  } else {
    M buffer[W] = {};
    auto where_to = at.template in_memory<W>();
#pragma clang loop unroll(disable)
    for (int j = 0; j < l.n; j++) buffer[j] = p[where_to[j]];
    __builtin_memcpy(&v, buffer, sizeof v);
  }
  return v;
}
template <class M, class L, class At>
LITZ_INLINE Vec<M, L::width> load_lanes(L l, const M* p, At at, Mask<L::width> k) {
  constexpr int W = L::width;
  Vec<M, W> v = 0;
  if constexpr (W == 1) {
    if (k && live_count(l) > 0) v = p[at[0]];
  } else {
    M buffer[W] = {};
    i32 chosen[W];
    __builtin_memcpy(chosen, &k.m, sizeof chosen);
    auto where_to = at.template in_memory<W>();
#pragma clang loop unroll(disable)
    for (int j = 0; j < live_count(l); j++)
      if (chosen[j]) buffer[j] = p[where_to[j]];
    __builtin_memcpy(&v, buffer, sizeof v);
  }
  return v;
}
template <class M, class L, class At>
LITZ_INLINE void store_lanes(L l, M* p, Vec<M, L::width> v, At at) {
  constexpr int W = L::width;
  if constexpr (W == 1) {
    if (live_count(l) > 0) p[at[0]] = v;
  } else if constexpr (is_full<L>) {
    LITZ_UNROLLED
    for (int j = 0; j < W; j++) p[at[j]] = v[j];
  } else {
    M buffer[W];
    __builtin_memcpy(buffer, &v, sizeof buffer);
    auto where_to = at.template in_memory<W>();
#pragma clang loop unroll(disable)
    for (int j = 0; j < l.n; j++) p[where_to[j]] = buffer[j];
  }
}
template <class M, class L, class At>
LITZ_INLINE void store_lanes(L l, M* p, Vec<M, L::width> v, At at, Mask<L::width> k) {
  constexpr int W = L::width;
  if constexpr (W == 1) {
    if (k && live_count(l) > 0) p[at[0]] = v;
  } else {
    M buffer[W];
    i32 chosen[W];
    __builtin_memcpy(buffer, &v, sizeof buffer);
    __builtin_memcpy(chosen, &k.m, sizeof chosen);
    auto where_to = at.template in_memory<W>();
#pragma clang loop unroll(disable)
    for (int j = 0; j < live_count(l); j++)
      if (chosen[j]) p[where_to[j]] = buffer[j];
  }
}
template <int W>
LITZ_INLINE bool is_alive(Full<W>, int) {
  return true;
}
template <int W>
LITZ_INLINE bool is_alive(Tail<W> l, int j) {
  return j < l.n;
}
template <class T>
LITZ_INLINE const Memory<T>* raw(const T* p) {
  return (const Memory<T>*)p;
}
template <class T>
LITZ_INLINE Memory<T>* raw(T* p) {
  return (Memory<T>*)p;
}

// ---- what kernels call ----

template <class L, class T>
LITZ_INLINE Value<T, L::width> load(L l, const T* p) {
  if constexpr (is_full<L> && same<Memory<T>, T>) {  // the common case, short for the compiler's sake
    Value<T, L::width> v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  } else return decode<T>(load_raw(l, raw(p)));
}
template <class L, class T>
LITZ_INLINE Value<T, L::width> load(L l, const T* p, typename Storage<T>::Register other) {
  return keep(l, load(l, p), splat<T>(l, other));
}
template <class L, class T>
LITZ_INLINE void store(L l, T* p, Value<T, L::width> v) {
  if constexpr (is_full<L> && same<Memory<T>, T>) __builtin_memcpy(p, &v, sizeof(T) * L::width);
  else store_raw<Memory<T>, L::width>(l, raw(p), encode<T>(v));
}

/// Lanes whose mask is false read nothing and hold `other`.
template <class L, class T>
LITZ_INLINE Value<T, L::width> load_masked(L l, const T* p, Mask<L::width> k, typename Storage<T>::Register other) {
  using M = Memory<T>;
  constexpr int W = L::width;
  k = keep(l, k, splat<bool>(l, false));
  Vec<M, W> v;
  if constexpr (has_masked_access<M, W>) v = masked_load<M, W>(raw(p), chosen_lanes(k));
  else v = load_lanes(l, raw(p), Stride{1}, k);
  return where(k, decode<T>(v), splat<T>(l, other));
}
template <class L, class T>
LITZ_INLINE void store_masked(L l, T* p, Mask<L::width> k, Value<T, L::width> v) {
  using M = Memory<T>;
  constexpr int W = L::width;
  if constexpr (has_masked_access<M, W>) masked_store<M, W>(raw(p), encode<T>(v), chosen_lanes(keep(l, k, splat<bool>(l, false))));
  else store_lanes(l, raw(p), encode<T>(v), Stride{1}, k);
}

// Every other element, from two loads that read nothing behind the last one.
template <class T, T... J>
struct Indices {};
template <class V, int... J>
LITZ_INLINE V even_elements(V a, V b, Indices<int, J...>) {
  constexpr int N = lanes<V>;  // b begins at element N - 1
  return __builtin_shufflevector(a, b, (2 * J < N ? 2 * J : N + 2 * J - (N - 1))...);
}
template <class V, int... J>
LITZ_INLINE V reversed(V v, Indices<int, J...>) {
  return __builtin_shufflevector(v, v, (lanes<V> - 1 - J)...);
}

/// p[0], p[stride], p[2 * stride], ...
template <class L, class T>
LITZ_INLINE Value<T, L::width> load_strided(L l, const T* p, i64 stride) {
  if constexpr (is_full<L> && L::width > 1) {
    constexpr int W = L::width;
    const auto* from = raw(p);
    if (__builtin_constant_p(stride) && stride == 2)
      return decode<T>(even_elements(load_raw(l, from), load_raw(l, from + (W - 1)), __make_integer_seq<Indices, int, W>{}));
    if (__builtin_constant_p(stride) && stride == -1)
      return decode<T>(reversed(load_raw(l, from - (W - 1)), __make_integer_seq<Indices, int, W>{}));
  }
  return decode<T>(load_lanes(l, raw(p), Stride{stride}));
}
template <class L, class T>
LITZ_INLINE void store_strided(L l, T* p, i64 stride, Value<T, L::width> v) {
  store_lanes(l, raw(p), encode<T>(v), Stride{stride});
}

/// The same where the mask is true; a step of true lanes costs no more than the load without a mask.
template <class L, class T>
LITZ_INLINE Value<T, L::width> load_strided_masked(L l, const T* p, i64 stride, Mask<L::width> k, typename Storage<T>::Register other) {
  k = keep(l, k, splat<bool>(l, false));
  if constexpr (is_full<L>) {
    if (all_lanes(k)) return load_strided(l, p, stride);
  }
  return where(k, decode<T>(load_lanes(l, raw(p), Stride{stride}, k)), splat<T>(l, other));
}

/// p[offset] lane by lane; offsets of any integer type.
template <class L, class T, class O>
LITZ_INLINE Value<T, L::width> gather(L l, const T* p, O offset) {
  return decode<T>(load_lanes(l, raw(p), offsets(offset)));
}
template <class L, class T, class O>
LITZ_INLINE Value<T, L::width> gather_masked(L l, const T* p, O offset, Mask<L::width> k, typename Storage<T>::Register other) {
  k = keep(l, k, splat<bool>(l, false));
  return where(k, decode<T>(load_lanes(l, raw(p), offsets(offset), k)), splat<T>(l, other));
}
/// Lanes are written in order: of equal offsets the last live lane stays.
template <class L, class T, class O>
LITZ_INLINE void scatter(L l, T* p, O offset, Value<T, L::width> v) {
  store_lanes(l, raw(p), encode<T>(v), offsets(offset));
}
template <class L, class T, class O>
LITZ_INLINE void scatter_masked(L l, T* p, O offset, Mask<L::width> k, Value<T, L::width> v) {
  store_lanes(l, raw(p), encode<T>(v), offsets(offset), k);
}

}  // namespace litz
