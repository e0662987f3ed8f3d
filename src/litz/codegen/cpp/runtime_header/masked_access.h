#pragma once
// Masked loads and stores by instruction, where the machine has them: AVX2 for elements of 4 and 8 bytes, AVX-512 for
// all. masked_load<M, W>(p, which) and masked_store exist where has_masked_access<M, W>; `which` is first_lanes<W>(n)
// or chosen_lanes(mask). Unchosen lanes read as 0 and touch no memory. Elsewhere memory.h goes element by element.
#include "types.h"

namespace litz {

#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

template <class M, int W>
inline constexpr bool has_masked_access = sizeof(M) * W >= 16 && W <= 64;
template <int W>
struct LaneBits {
  u64 bits;
};
template <int W>
LITZ_INLINE LaneBits<W> first_lanes(i32 n) {
  return {W == 64 && n == 64 ? ~0ul : (1ul << n) - 1};
}
template <int W>
LITZ_INLINE LaneBits<W> chosen_lanes(LaneMask<W> k) {
  if constexpr (W == 4) return {(u64)__builtin_ia32_cvtd2mask128(k.m)};
  else if constexpr (W == 8) return {(u64)__builtin_ia32_cvtd2mask256(k.m)};
  else if constexpr (W == 16) return {(u64)__builtin_ia32_cvtd2mask512(k.m)};
  else if constexpr (W == 2) return {(u64)(k.m[0] & 1) | (u64)(k.m[1] & 2)};
  else return {chosen_lanes(LaneMask<W / 2>{k.m.lo}).bits | chosen_lanes(LaneMask<W / 2>{k.m.hi}).bits << (W / 2)};
}

// A pointer to whatever the built-in wants: an element or a vector.
struct Address {
  const void* p;
  template <class T>
  LITZ_BODY operator T*() const {
    return (T*)p;
  }
};
// LITZ_MASKED(element bytes, total bytes, builtin suffix, its element type, its mask type)
// clang-format off
#define LITZ_MASKED_SIZES(X)                                                                                        \
  X(4, 64, ups512, float, u16)                                                                                      \
  X(4, 32, ups256, float, u8) X(4, 16, ups128, float, u8) X(8, 64, upd512, double, u8) X(8, 32, upd256, double, u8) \
      X(8, 16, upd128, double, u8) X(2, 64, dquhi512, short, u32) X(2, 32, dquhi256, short, u16)                    \
          X(2, 16, dquhi128, short, u8) X(1, 64, dquqi512, char, u64) X(1, 32, dquqi256, char, u32)                 \
              X(1, 16, dquqi128, char, u16)
// clang-format on

template <class M, int W>
LITZ_INLINE Vec<M, W> masked_load(const M* p, LaneBits<W> which) {
  constexpr int element = sizeof(M), total = sizeof(M) * W;
  if constexpr (total > 64) {
    Vec<M, W> r;
    r.lo = masked_load<M, W / 2>(p, {which.bits & ((1ul << W / 2) - 1)});
    r.hi = masked_load<M, W / 2>(p + W / 2, {which.bits >> W / 2});
    return r;
  }
#define LITZ_MASKED(e, t, suffix, type, mask)                               \
  else if constexpr (element == e && total == t) return __builtin_bit_cast( \
      Vec<M, W>, __builtin_ia32_load##suffix##_mask(Address{p}, (Vec<type, W>)0, (mask)which.bits));
  LITZ_MASKED_SIZES(LITZ_MASKED)
#undef LITZ_MASKED
}
template <class M, int W>
LITZ_INLINE void masked_store(M* p, Vec<M, W> v, LaneBits<W> which) {
  constexpr int element = sizeof(M), total = sizeof(M) * W;
  if constexpr (total > 64) {
    masked_store<M, W / 2>(p, v.lo, {which.bits & ((1ul << W / 2) - 1)});
    masked_store<M, W / 2>(p + W / 2, v.hi, {which.bits >> W / 2});
  }
#define LITZ_MASKED(e, t, suffix, type, mask)    \
  else if constexpr (element == e && total == t) \
      __builtin_ia32_store##suffix##_mask(Address{p}, __builtin_bit_cast(Vec<type, W>, v), (mask)which.bits);
  LITZ_MASKED_SIZES(LITZ_MASKED)
#undef LITZ_MASKED
}

#elif defined(__AVX2__)

template <class M, int W>
inline constexpr bool has_masked_access = sizeof(M) >= 4 && sizeof(M) * W >= 16;
template <int W>
LITZ_INLINE LaneMask<W> first_lanes(i32 n) {
  return {lane_numbers<i32, W>() < (Vec<i32, W>)n};
}
template <int W>
LITZ_INLINE LaneMask<W> chosen_lanes(LaneMask<W> k) {
  return k;
}

template <class M, int W>
LITZ_INLINE Vec<M, W> masked_load(const M* p, LaneMask<W> which) {
  constexpr int total = sizeof(M) * W;
  if constexpr (total > 32) {
    Vec<M, W> r;
    r.lo = masked_load<M, W / 2>(p, {which.m.lo});
    r.hi = masked_load<M, W / 2>(p + W / 2, {which.m.hi});
    return r;
  } else if constexpr (sizeof(M) == 4 && total == 32)
    return __builtin_bit_cast(Vec<M, W>, __builtin_ia32_maskloadps256((const Vec<float, 8>*)p, which.m));
  else if constexpr (sizeof(M) == 4) return __builtin_bit_cast(Vec<M, W>, __builtin_ia32_maskloadps((const Vec<float, 4>*)p, which.m));
  else if constexpr (total == 32)
    return __builtin_bit_cast(Vec<M, W>, __builtin_ia32_maskloadpd256((const Vec<double, 4>*)p, convert<long long>(which.m)));
  else return __builtin_bit_cast(Vec<M, W>, __builtin_ia32_maskloadpd((const Vec<double, 2>*)p, convert<long long>(which.m)));
}
template <class M, int W>
LITZ_INLINE void masked_store(M* p, Vec<M, W> v, LaneMask<W> which) {
  constexpr int total = sizeof(M) * W;
  if constexpr (total > 32) {
    masked_store<M, W / 2>(p, v.lo, {which.m.lo});
    masked_store<M, W / 2>(p + W / 2, v.hi, {which.m.hi});
  } else if constexpr (sizeof(M) == 4 && total == 32)
    __builtin_ia32_maskstoreps256((Vec<float, 8>*)p, which.m, __builtin_bit_cast(Vec<float, 8>, v));
  else if constexpr (sizeof(M) == 4) __builtin_ia32_maskstoreps((Vec<float, 4>*)p, which.m, __builtin_bit_cast(Vec<float, 4>, v));
  else if constexpr (total == 32)
    __builtin_ia32_maskstorepd256((Vec<double, 4>*)p, convert<long long>(which.m), __builtin_bit_cast(Vec<double, 4>, v));
  else __builtin_ia32_maskstorepd((Vec<double, 2>*)p, convert<long long>(which.m), __builtin_bit_cast(Vec<double, 2>, v));
}

#else

template <class M, int W>
inline constexpr bool has_masked_access = false;

#endif

}  // namespace litz
