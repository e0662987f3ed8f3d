#pragma once
// sin, cos, tan and the inverse functions. Arguments are reduced in double: r = x - n pi/2, |r| <= pi/4; from 2^20 up
// by multiplying with the bits of 2/pi that matter (Payne and Hanek), lane by lane. float64 has a header of its own.
#include "double_precision.h"

namespace litz {

struct QuarterTurns {
  double r;  // in [-pi/4, pi/4]
  i64 n;     // how many quarter turns were taken off, modulo 4
};
// x >= 2^20. With x = m 2^e, the bits of 2/pi down to weight 2^(2-e) give multiples of 4; the 128 bits after them,
// times m, hold n modulo 4 in the two highest bits and then the fraction.
LITZ_SLOW QuarterTurns reduce_large(float x) {
  constexpr u64 two_over_pi[] = {0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561};
  u32 bits = as<u32>(x);
  if (bits >= 0x7f800000) return {__builtin_nan(""), 0};
  u32 m = (bits & 0x7fffff) | 0x800000, skip = (bits >> 23) - 150 + 62, word = skip >> 6, shift = skip & 63;
  auto at = [&](u32 i) { return shift ? two_over_pi[i] << shift | two_over_pi[i + 1] >> (64 - shift) : two_over_pi[i]; };
  unsigned __int128 product = ((unsigned __int128)at(word) << 64 | at(word + 1)) * m;
  i64 n = (i64)((u64)(product >> 125) + 1) >> 1;
  double fraction = (double)(i64)(u64)(product >> 62) * 0x1p-64;
  return {fraction * 1.5707963267948966, n};
}
template <class D>
struct Reduced {
  D r;
  Rebind<D, i64> n;
};
// a = |x|
template <class V>
LITZ_INLINE Reduced<Rebind<V, double>> reduce_half_pi(V a) {
  using D = Rebind<V, double>;
  D x = convert<double>(a), magic = (D)0x1.8p52, t = mad(x, (D)0x1.45f306dc9c883p-1, magic), n = t - magic;
  Reduced<D> result = {mad(n, (D)-0x1.0b4611a626331p-34, mad(n, (D)-0x1.921fb544p+0, x)), as<i64>(t)};
  if (__builtin_expect(some(a >= (V)0x1p20f), 0)) {
#pragma clang loop unroll(disable)
    for (int j = 0; j < lanes<V>; j++)
      if (lane(a, j) >= 0x1p20f) {
        auto [r, turns] = reduce_large(lane(a, j));
        set_lane(result.r, j, r);
        set_lane(result.n, j, turns);
      }
  }
  return result;
}
template <class V>
LITZ_INLINE V sin_or_cos(V x, bool is_cos) {
  V a = abs(x);
  auto [wide, turns] = reduce_half_pi(a);
  Bits<V> n = convert<i32>(turns) + (is_cos ? 1 : 0);
  V r = convert<float>(wide), z = r * r;
  V s = mad(z * r, polynomial(z, 2.83739541e-06f, -0.000198535054f, 0.00833338033f, -0.166666672f), r);
  V c = mad(z * z, polynomial(z, -2.89759072e-07f, 2.48229771e-05f, -0.00138889824f, 0.0416666679f), mad(z, (V)-0.5f, (V)1));
  V y = (n & 1) != 0 ? c : s;
  Bits<V> sign = (n & 2) << 30;
  if (!is_cos) sign ^= as<i32>(x) & (Bits<V>)(-0x7fffffff - 1);
  return as<float>((Bits<V>)(as<i32>(y) ^ sign));
}
template <class V>
LITZ_INLINE V sin(V x) {
  LITZ_FLOAT64(sin(x));
  else return sin_or_cos(x, false); }
template <class V>
LITZ_INLINE V cos(V x) {
  LITZ_FLOAT64(cos(x));
  else return sin_or_cos(x, true); }
template <class V>
LITZ_INLINE V tan(V x) {
  LITZ_FLOAT64(tan(x));
  else {
    using D = Rebind<V, double>;
    auto [r, n] = reduce_half_pi(abs(x));
    D z = r * r,
      s = r * polynomial(z, -2.4761406758080998e-08, 2.7555354455340698e-06, -0.00019841263807920197, 0.0083333333252452683,
                         -0.16666666666631452, 1.0),
      c = polynomial(z, -2.7179731160827577e-07, 2.4799036053597181e-05, -0.0013888881055857554, 0.041666666561671721, -0.49999999999542905,
                     1.0);
    auto odd = (n & 1) != 0;
    V y = convert<float>((odd ? -c : s) / (odd ? s : c));
    return as<float>((Bits<V>)(as<i32>(y) ^ (as<i32>(x) & (Bits<V>)(-0x7fffffff - 1))));
  }
}

// the angle of (x, y) with 0 <= y, any x, in [0, pi]
template <class D>
LITZ_INLINE D angle(D y, D x) {
  D a = abs(x), high = y > a ? y : a, low = y > a ? a : y;
  D q = low / high;
  q = high == (D)0 ? (D)0 : low == high ? (D)1 : q;  // (0, 0) and (inf, inf)
  D z = q * q, t = q * polynomial(z, 0.00044921975765145302, -0.0033773804040607828, 0.011911418351201988, -0.026746528268482183,
                                  0.044367457137355029, -0.060687193035637535, 0.075153955326748803, -0.090549577946538048,
                                  0.11106370466176914, -0.14285343424265831, 0.19999985337193385, -0.33333333130291221, 1.0);
  t = y > a ? (D)1.5707963267948966 - t : t;
  t = signbit_lanes(x) ? (D)3.141592653589793 - t : t;
  return y != y ? y : x != x ? x : t;
}
template <class V>
LITZ_INLINE V atan(V x) {
  LITZ_FLOAT64(atan(x));
  else {
    using D = Rebind<V, double>;
    return copysign(convert<float>(angle(convert<double>(abs(x)), (D)1)), x);
  }
}
template <class V>
LITZ_INLINE V atan2(V y, V x) {
  LITZ_FLOAT64(atan2(y, x));
  else return copysign(convert<float>(angle(convert<double>(abs(y)), convert<double>(x))), y); }
template <class V>
LITZ_INLINE V asin(V x) {
  LITZ_FLOAT64(asin(x));
  else {
    using D = Rebind<V, double>;
    D a = convert<double>(abs(x));
    return copysign(convert<float>(angle(a, __builtin_elementwise_sqrt(((D)1 - a) * ((D)1 + a)))), x);
  }
}
template <class V>
LITZ_INLINE V acos(V x) {
  LITZ_FLOAT64(acos(x));
  else {
    using D = Rebind<V, double>;
    D a = convert<double>(x);
    return convert<float>(angle(__builtin_elementwise_sqrt(((D)1 - a) * ((D)1 + a)), a));
  }
}

}  // namespace litz
