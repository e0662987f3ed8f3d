#pragma once
// All lanes of a vector to one value.
#include "types.h"

namespace litz {

/// Halves are combined until one is left: a fixed order, the same for every length.
template <class T, class V, class F> LITZ_INLINE auto combine_lanes(V v, F f) {
  if constexpr (lanes<V> == 1) return v;
  else {
    constexpr int H = lanes<V> / 2;
    Vec<Element<V>, H> a, b;
    if constexpr (H == 1) {
      a = v[0];
      b = v[1];
    } else {
      a = v.lo;
      b = v.hi;
    }
    return combine_lanes<T>(f(a, b), f);
  }
}
template <int N> LITZ_INLINE bool any_lane(LaneMask<N> k) {
#if defined(__AVX__)
  if constexpr (N == 8) return __builtin_ia32_movmskps256(as<float>(k.m)) != 0;
#endif
  if constexpr (N > 8) return any_lane(LaneMask<N / 2>{k.m.lo | k.m.hi});
  else return combine_lanes<i32>(k.m, [](auto a, auto b) { return a | b; }) != 0;
}
template <int N> LITZ_INLINE bool all_lanes(LaneMask<N> k) {
#if defined(__AVX__)
  if constexpr (N == 8) return __builtin_ia32_movmskps256(as<float>(k.m)) == 0xff;
#endif
  if constexpr (N > 8) return all_lanes(LaneMask<N / 2>{k.m.lo & k.m.hi});
  else return combine_lanes<i32>(k.m, [](auto a, auto b) { return a & b; }) != 0;
}
LITZ_INLINE bool any_lane(bool k) { return k; }
LITZ_INLINE bool all_lanes(bool k) { return k; }

}  // namespace litz
