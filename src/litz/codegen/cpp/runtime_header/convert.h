#pragma once
// Conversions between dtypes, as eager's on x86: float to integer truncates; what does not fit in int32 (int64 for
// 64-bit integers and uint8) becomes that type's minimum and then loses its high bits, so -1.5 is uint8 255; NaN is a
// true bool. Small floats round to nearest even from float and keep NaN. decode and encode are memory <-> register.
#include "types.h"

namespace litz {

// ---- small floats: sign, exponent, mantissa of Mant bits with exponent bias Bias ----

// magnitude bits (no sign) as float; inf and NaN codes are the caller's.
template <int Mant, int Bias, class U>
LITZ_INLINE Rebind<U, float> expand_float(U magnitude) {
  return as<float>(magnitude << (23 - Mant)) * as<float>((u32)(254 - Bias) << 23);
}
// Magnitude of a (finite, not above the largest power of two that rounding may reach) rounded to nearest even.
template <int Mant, int Bias, class U>
LITZ_INLINE U shrink_float(U a) {
  constexpr u32 smallest_normal = (u32)(128 - Bias) << 23, magic = (u32)(151 - Bias - Mant) << 23;
  U normal = (a - ((u32)(127 - Bias) << 23) + ((1u << (22 - Mant)) - 1) + ((a >> (23 - Mant)) & 1)) >> (23 - Mant);
  U subnormal = as<u32>(as<float>(a) + as<float>(magic)) - magic;
  return a < smallest_normal ? subnormal : normal;
}

template <class T>
struct SmallFloat;  // bits_of(float) -> u32 lanes, float_of(u32 lanes) -> float
template <>
struct SmallFloat<bf16> {
  template <class F>
  LITZ_INLINE UBits<F> bits_of(F x) {
    UBits<F> b = as<u32>(x), rounded = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
    return x != x ? (UBits<F>)((b >> 16) | 0x40) : rounded;
  }
  template <class U>
  LITZ_INLINE Rebind<U, float> float_of(U b) {
    return as<float>(b << 16);
  }
};
template <>
struct SmallFloat<f16> {
  template <class F>
  LITZ_INLINE UBits<F> bits_of(F x) {
    using U = UBits<F>;
    U b = as<u32>(x), a = b & 0x7fffffff, r = shrink_float<10, 15>(a);
    r = a >= 0x477ff000 ? (U)0x7c00 : r;
    r = a > 0x7f800000 ? (U)(0x7e00 | ((a >> 13) & 0x1ff)) : r;
    return r | ((b >> 16) & 0x8000);
  }
  template <class U>
  LITZ_INLINE Rebind<U, float> float_of(U b) {
    U a = b & 0x7fff, r = as<u32>(expand_float<10, 15>(a));
    r = a >= 0x7c00 ? (U)(0x7f800000 | (a << 13)) : r;
    return as<float>(r | ((b & 0x8000) << 16));
  }
};
template <>
struct SmallFloat<f8_e5m2> {
  template <class F>
  LITZ_INLINE UBits<F> bits_of(F x) {
    using U = UBits<F>;
    U b = as<u32>(x), a = b & 0x7fffffff, r = shrink_float<2, 15>(a);
    r = a >= 0x47800000 ? (U)0x7c : r;
    r = a > 0x7f800000 ? (U)0x7f : r;
    return r | ((b >> 24) & 0x80);
  }
  template <class U>
  LITZ_INLINE Rebind<U, float> float_of(U b) {
    return SmallFloat<f16>::float_of(b << 8);
  }
};
template <>
struct SmallFloat<f8_e4m3fn> {
  template <class F>
  LITZ_INLINE UBits<F> bits_of(F x) {
    using U = UBits<F>;
    U b = as<u32>(x), a = b & 0x7fffffff, r = shrink_float<3, 7>(a);
    r = a > 0x43e00000 ? (U)0x7e : r;  // no infinity: saturates at 448
    r = a > 0x7f800000 ? (U)0x7f : r;
    return r | ((b >> 24) & 0x80);
  }
  template <class U>
  LITZ_INLINE Rebind<U, float> float_of(U b) {
    U a = b & 0x7f, r = as<u32>(expand_float<3, 7>(a));
    r = a == 0x7f ? (U)0x7fc00000 : r;
    return as<float>(r | ((b & 0x80) << 24));
  }
};
// The two formats with one zero and one NaN (code 0x80).
template <int Mant, int Bias, u32 Overflow>
struct OneNanFloat {
  template <class F>
  LITZ_INLINE UBits<F> bits_of(F x) {
    using U = UBits<F>;
    U b = as<u32>(x), a = b & 0x7fffffff, r = shrink_float<Mant, Bias>(a);
    r = r == 0 ? r : r | ((b >> 24) & 0x80);
    return a >= Overflow ? (U)0x80 : r;
  }
  template <class U>
  LITZ_INLINE Rebind<U, float> float_of(U b) {
    U r = as<u32>(expand_float<Mant, Bias>((U)(b & 0x7f))) | ((b & 0x80) << 24);
    return as<float>(b == 0x80 ? (U)0x7fc00000 : r);
  }
};
template <>
struct SmallFloat<f8_e4m3fnuz> : OneNanFloat<3, 8, 0x43800000> {};
template <>
struct SmallFloat<f8_e5m2fnuz> : OneNanFloat<2, 16, 0x47800000> {};

template <class T>
inline constexpr bool is_small_float = !same<Memory<T>, T> && !same<T, bool>;

#if defined(__F16C__) || defined(__AVX512F__) || defined(__aarch64__)
#define LITZ_NATIVE_F16 1
#else
#define LITZ_NATIVE_F16 0
#endif

/// Memory lanes to the register type of dtype T.
template <class T, class M>
LITZ_INLINE Value<T, lanes<M>> decode(M m) {
  if constexpr (same<T, bool>) return as_mask(m != (M)0);
  else if constexpr (LITZ_NATIVE_F16 && same<T, f16>) return convert<float>(as<_Float16>(m));
  else if constexpr (is_small_float<T>) return SmallFloat<T>::float_of(convert<u32>(m));
  else return m;
}
/// The register type of dtype T to memory lanes.
template <class T, class V>
LITZ_INLINE Rebind<V, Memory<T>> encode(V v) {
  if constexpr (same<T, bool>) {
    if constexpr (lanes<V> == 1) return (u8)v;
    else return convert<u8>(v.m) & (Rebind<V, u8>)1;
  } else if constexpr (LITZ_NATIVE_F16 && same<T, f16>) return as<u16>(convert<_Float16>(v));
  else if constexpr (is_small_float<T>) return convert<Memory<T>>(SmallFloat<T>::bits_of(v));
  else return v;
}

// ---- float to integer ----

// As the machine's truncating conversion answers: int32's minimum for what does not fit. x86 has the instruction;
// elsewhere the range is checked, for C++ leaves such a conversion undefined.
template <class V>
LITZ_INLINE Rebind<V, i32> truncate_to_i32(V v) {
#if defined(__AVX512F__)
  if constexpr (same<Element<V>, float> && lanes<V> == 16)
    return __builtin_bit_cast(Rebind<V, i32>, __builtin_ia32_cvttps2dq512_mask(v, (Rebind<V, i32>)0, (u16)-1, 4));
  else
#endif
#if defined(__AVX__)
      if constexpr (same<Element<V>, float> && lanes<V> == 8)
    return __builtin_bit_cast(Rebind<V, i32>, __builtin_ia32_cvttps2dq256(v));
  else
#endif
#if defined(__SSE2__)
      if constexpr (same<Element<V>, float> && lanes<V> == 4)
    return __builtin_bit_cast(Rebind<V, i32>, __builtin_ia32_cvttps2dq(v));
  else if constexpr (same<Element<V>, float> && lanes<V> > 4) {
    Rebind<V, i32> r;
    r.lo = truncate_to_i32(v.lo);
    r.hi = truncate_to_i32(v.hi);
    return r;
  } else
#endif
  {
    using E = Element<V>;
    auto fits = same<E, float> ? (v >= (V)(E)-0x1p31f) & (v < (V)(E)0x1p31f) : (v > (V)(E)-2147483649.0) & (v < (V)(E)0x1p31);
    return where(as_mask(fits), convert<i32>(v), (Rebind<V, i32>)(-0x7fffffff - 1));
  }
}
template <class V>
LITZ_INLINE Rebind<V, i64> truncate_to_i64(V v) {
  auto fits = (v >= (V)(Element<V>)-0x1p63f) & (v < (V)(Element<V>)0x1p63f);
  return where(as_mask(fits), convert<i64>(v), (Rebind<V, i64>)(-0x7fffffffffffffff - 1));
}
template <class T, class V>
LITZ_INLINE Rebind<V, T> float_to_integer(V v) {
  using E = Element<V>;
  if constexpr (same<T, u64>) {
    // below 2^63 as int64 (negative values wrap), above it less 2^63
    V half = (V)(E)0x1p63f;
    return where(as_mask(v >= half), as<u64>(truncate_to_i64(v - half)) ^ (Rebind<V, u64>)(1ul << 63), as<u64>(truncate_to_i64(v)));
  } else if constexpr (same<T, u32>) {
    V half = (V)(E)0x1p31f;
    return where(as_mask(v >= half), as<u32>(truncate_to_i32(v - half)) ^ (Rebind<V, u32>)(1u << 31), as<u32>(truncate_to_i32(v)));
  } else if constexpr (same<T, i64> || (same<T, u8> && same<E, double>)) return convert<T>(truncate_to_i64(v));
  else return convert<T>(truncate_to_i32(v));  // float to uint8 goes this way too: from 2^31 up its low byte is 0
}

/// v as dtype T. Into a small float it rounds to that format and stays in float registers.
template <class T, class V>
LITZ_INLINE Value<T, lanes<V>> cast(V v) {
  using E = Element<V>;
  using R = typename Storage<T>::Register;
  if constexpr (same<T, bool> && same<E, bool>) return v;
  else if constexpr (same<T, bool>) return as_mask(v != (V)0);
  else if constexpr (same<E, bool>) return where(v, (Vec<R, lanes<V>>)(R)1, (Vec<R, lanes<V>>)(R)0);
  else if constexpr (is_small_float<T>) return decode<T>(encode<T>(convert<float>(v)));
  else if constexpr (is_float<E> && !is_float<R>) return float_to_integer<T>(v);
  else return convert<T>(v);
}
/// The bits of v, which is of dtype From, as dtype To of the same size (torch's view(dtype)).
template <class To, class From, class V>
LITZ_INLINE Value<To, lanes<V>> bitcast(V v) {
  return decode<To>(as<Memory<To>>(encode<From>(v)));
}

}  // namespace litz
