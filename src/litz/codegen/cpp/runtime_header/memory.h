#pragma once
// Loads and stores: whole steps, the first n lanes, masked, strided, and by offset. Dead and masked lanes touch no memory:
// not a byte past the last live element is read or written. Addresses need the alignment of one element only. Dead lanes
// of a load hold `other` (0 unless given). Offsets and strides count elements, not bytes.
#include "convert.h"

namespace litz {

// ---- raw elements (Memory<T>) ----

template <class M, int W> LITZ_INLINE Vec<M, W> load_raw(Full<W>, const M* p) {
  Vec<M, W> v;
  __builtin_memcpy(&v, p, sizeof(M) * W);
  return v;
}
template <class M, int W> LITZ_INLINE void store_raw(Full<W>, M* p, Vec<M, W> v) { __builtin_memcpy(p, &v, sizeof(M) * W); }

// The first n elements, in chunks of the powers of two of which n is the sum.
template <int W, class M> LITZ_INLINE void copy_first(M* to, const M* from, i32 n) {
  i32 at = 0;
  if constexpr (W >= 64) if (n & 64) { __builtin_memcpy(to, from, 64 * sizeof(M)); at = 64; }
  if constexpr (W >= 32) if (n & 32) { __builtin_memcpy(to + at, from + at, 32 * sizeof(M)); at += 32; }
  if constexpr (W >= 16) if (n & 16) { __builtin_memcpy(to + at, from + at, 16 * sizeof(M)); at += 16; }
  if constexpr (W >= 8) if (n & 8) { __builtin_memcpy(to + at, from + at, 8 * sizeof(M)); at += 8; }
  if constexpr (W >= 4) if (n & 4) { __builtin_memcpy(to + at, from + at, 4 * sizeof(M)); at += 4; }
  if constexpr (W >= 2) if (n & 2) { __builtin_memcpy(to + at, from + at, 2 * sizeof(M)); at += 2; }
  if (n & 1) __builtin_memcpy(to + at, from + at, sizeof(M));
}
template <class M, int W> LITZ_INLINE Vec<M, W> load_raw(Tail<W> l, const M* p) {
  M buffer[W] = {};
  copy_first<W>(buffer, p, l.n);
  return load_raw(Full<W>{}, buffer);
}
template <class M, int W> LITZ_INLINE void store_raw(Tail<W> l, M* p, Vec<M, W> v) {
  M buffer[W];
  store_raw(Full<W>{}, buffer, v);
  copy_first<W>(p, buffer, l.n);
}

// Lane by lane at p[at(j)], where `live` says so.
template <class M, int W, class At, class Live> LITZ_INLINE Vec<M, W> load_lanes(const M* p, At at, Live live) {
  if constexpr (W == 1) return live(0) ? p[at(0)] : M(0);
  else {
    Vec<M, W> v = 0;
    for (int j = 0; j < W; j++)
      if (live(j)) v[j] = p[at(j)];
    return v;
  }
}
template <class M, int W, class At, class Live> LITZ_INLINE void store_lanes(M* p, Vec<M, W> v, At at, Live live) {
  for (int j = 0; j < W; j++)
    if (live(j)) p[at(j)] = lane(v, j);
}
template <int W> LITZ_INLINE bool is_alive(Full<W>, int) { return true; }
template <int W> LITZ_INLINE bool is_alive(Tail<W> l, int j) { return j < l.n; }
template <class T> LITZ_INLINE const Memory<T>* raw(const T* p) { return (const Memory<T>*)p; }
template <class T> LITZ_INLINE Memory<T>* raw(T* p) { return (Memory<T>*)p; }

// ---- what kernels call ----

template <class L, class T> LITZ_INLINE Value<T, L::width> load(L l, const T* p) { return decode<T>(load_raw(l, raw(p))); }
template <class L, class T> LITZ_INLINE Value<T, L::width> load(L l, const T* p, typename Storage<T>::Register other) {
  return keep(l, load(l, p), splat<T>(l, other));
}
template <class L, class T> LITZ_INLINE void store(L l, T* p, Value<T, L::width> v) {
  store_raw<Memory<T>, L::width>(l, raw(p), encode<T>(v));
}

/// Lanes whose mask is false read nothing and hold `other`.
template <class L, class T>
LITZ_INLINE Value<T, L::width> load_masked(L l, const T* p, Mask<L::width> k, typename Storage<T>::Register other) {
  auto v = load_lanes<Memory<T>, L::width>(raw(p), [](int j) { return j; }, [&](int j) { return is_alive(l, j) && lane(k, j); });
  return where(k, keep(l, decode<T>(v), splat<T>(l, other)), splat<T>(l, other));
}
template <class L, class T> LITZ_INLINE void store_masked(L l, T* p, Mask<L::width> k, Value<T, L::width> v) {
  store_lanes<Memory<T>, L::width>(raw(p), encode<T>(v), [](int j) { return j; }, [&](int j) { return is_alive(l, j) && lane(k, j); });
}

/// p[0], p[stride], p[2 * stride], ...
template <class L, class T> LITZ_INLINE Value<T, L::width> load_strided(L l, const T* p, i64 stride) {
  return decode<T>(load_lanes<Memory<T>, L::width>(raw(p), [&](int j) { return j * stride; }, [&](int j) { return is_alive(l, j); }));
}
template <class L, class T> LITZ_INLINE void store_strided(L l, T* p, i64 stride, Value<T, L::width> v) {
  store_lanes<Memory<T>, L::width>(raw(p), encode<T>(v), [&](int j) { return j * stride; }, [&](int j) { return is_alive(l, j); });
}

/// p[offset] lane by lane; offsets of any integer type.
template <class L, class T, class O> LITZ_INLINE Value<T, L::width> gather(L l, const T* p, O offset) {
  return decode<T>(load_lanes<Memory<T>, L::width>(raw(p), [&](int j) { return (i64)lane(offset, j); }, [&](int j) { return is_alive(l, j); }));
}
template <class L, class T, class O>
LITZ_INLINE Value<T, L::width> gather_masked(L l, const T* p, O offset, Mask<L::width> k, typename Storage<T>::Register other) {
  auto v = load_lanes<Memory<T>, L::width>(raw(p), [&](int j) { return (i64)lane(offset, j); },
                                           [&](int j) { return is_alive(l, j) && lane(k, j); });
  return where(k, keep(l, decode<T>(v), splat<T>(l, other)), splat<T>(l, other));
}
/// Lanes are written in order: of equal offsets the last live lane stays.
template <class L, class T, class O> LITZ_INLINE void scatter(L l, T* p, O offset, Value<T, L::width> v) {
  store_lanes<Memory<T>, L::width>(raw(p), encode<T>(v), [&](int j) { return (i64)lane(offset, j); }, [&](int j) { return is_alive(l, j); });
}
template <class L, class T, class O>
LITZ_INLINE void scatter_masked(L l, T* p, O offset, Mask<L::width> k, Value<T, L::width> v) {
  store_lanes<Memory<T>, L::width>(raw(p), encode<T>(v), [&](int j) { return (i64)lane(offset, j); },
                                   [&](int j) { return is_alive(l, j) && lane(k, j); });
}

}  // namespace litz
