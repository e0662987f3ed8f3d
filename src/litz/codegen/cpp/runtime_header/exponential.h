#pragma once
// exp, exp2, expm1, log and its kin, tanh, sigmoid, erf in float: within 2 ulp on every input (exp, log, tanh, sigmoid,
// erf tested on all 2^32). float64 has headers of its own (float64.h). Coefficients: tools/fit_polynomials.py.
#include "arithmetic.h"

namespace litz {

// x = n ln2 + r, |r| <= ln2 / 2, with r = high - low not yet rounded. Adding 1.5 * 2^23 leaves n in the low bits of t;
// n times the first part of ln2 is exact.
template <class V>
struct ExpParts {
  V high, low;
  V whole;    // n
  Bits<V> n;  // 0x4b400000 + n
};
template <class V>
LITZ_INLINE ExpParts<V> split_exp(V x) {
  V magic = (V)12582912.0f, t = mad(x, (V)1.44269504f, magic), n = t - magic;
  return {mad(n, (V)-0.693145752f, x), n * (V)1.42860677e-06f, n, as<i32>(t)};
}
// 2^n for n in [-126, 127], n as split_exp leaves it (its high bits fall out).
template <class V>
LITZ_INLINE V power_of_two(Bits<V> n) {
  return as<float>((Bits<V>)((n << 23) + 0x3f800000));
}
// e^r - 1: the rounding of r itself touches only the square
template <class V>
LITZ_INLINE V expm1_reduced(ExpParts<V> s) {
  V r = s.high - s.low;
  return mad(r * r, polynomial(r, 0.00139406382f, 0.0083688274f, 0.0416664034f, 0.166665196f, 0.5f), -s.low) + s.high;
}

// p 2^n for n in [-150, 128], the result rounded once: an instruction, or two multiplications.
template <class V>
LITZ_INLINE V scale(V p, ExpParts<V> s) {
#if defined(__AVX512VL__)
  if constexpr (lanes<V> > 16) {
    V r;
    r.lo = scale(p.lo, {s.high.lo, s.low.lo, s.whole.lo, s.n.lo});
    r.hi = scale(p.hi, {s.high.hi, s.low.hi, s.whole.hi, s.n.hi});
    return r;
  } else if constexpr (lanes<V> == 16) return __builtin_bit_cast(V, __builtin_ia32_scalefps512_mask(p, s.whole, p, (u16)-1, 4));
  else if constexpr (lanes<V> == 8) return __builtin_bit_cast(V, __builtin_ia32_scalefps256_mask(p, s.whole, p, (u8)-1));
  else if constexpr (lanes<V> == 4) return __builtin_bit_cast(V, __builtin_ia32_scalefps128_mask(p, s.whole, p, (u8)-1));
  else
#endif
  {
    Bits<V> n = s.n - 0x4b400000, half = n >> 1;
    return p * power_of_two<V>(half) * power_of_two<V>(n - half);
  }
}

/// e^x; subnormal results are right, too.
template <class V>
LITZ_INLINE V exp(V x) {
  LITZ_FLOAT64(exp(x));
  else {
    x = x > (V)89.0f ? (V)89.0f : x;
    x = x < (V)-104.0f ? (V)-104.0f : x;
    auto s = split_exp(x);
    return scale(expm1_reduced(s) + (V)1, s);
  }
}
/// 1 / (1 + e^-x), through e^-|x|: no overflow, and small results keep their digits. The rounding of 1 + e is taken
/// back.
template <class V>
LITZ_INLINE V sigmoid(V x) {
  LITZ_FLOAT64(sigmoid(x));
  else {
    V e = exp(-abs(x)), d = (V)1 + e, lost = e - (d - (V)1);
    V y = (x < (V)0 ? e : (V)1) / d;
    return mad(-y, lost, y);
  }
}

/// Near 0 a polynomial in x^2; else 1 - 2 / (e^(2|x|) + 1).
template <class V>
LITZ_INLINE V tanh(V x) {
  LITZ_FLOAT64(tanh(x));
  else {
    V a = abs(x), z = x * x;
    V near = mad(z * a, polynomial(z, -0.00589695107f, 0.0207980108f, -0.0537846312f, 0.133319363f, -0.333332986f), a);
    V b = a > (V)9.1f ? (V)9.1f : a;
    auto s = split_exp(b + b);
    V power = power_of_two<V>(s.n), d = mad(power, expm1_reduced(s), power + (V)1);
    return copysign(a < (V)0.6f ? near : (V)1 - (V)2 / d, x);
  }
}
/// Near 0 a polynomial in x^2; from 1 on 1 - e^-q(|x|) with q = -log(erfc).
template <class V>
LITZ_INLINE V erf(V x) {
  LITZ_FLOAT64(erf(x));
  else {
    V a = abs(x), z = x * x;
    V near = mad(
        x, polynomial(z, 7.92030987e-05f, -0.000803075091f, 0.00519073335f, -0.026855126f, 0.112836182f, -0.376126289f, 0.128379166f), x);
    V b = a > (V)4.0f ? (V)4.0f : a;
    auto s = split_exp(-polynomial(b, 0.00115717342f, -0.0148314517f, 0.0887985006f, 0.65424186f, 1.11761999f, 0.00261952309f));
    V power = power_of_two<V>(s.n), far = (V)1 - mad(power, expm1_reduced(s), power);
    return a < (V)1 ? near : copysign(far, x);
  }
}

/// Natural logarithm: x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
template <class V>
LITZ_INLINE V log(V x) {
  LITZ_FLOAT64(log(x));
  else {
    V tiny = (V)0x1p-126f, small = x < tiny ? (V)-23.0f : (V)0, y = x < tiny ? x * (V)0x1p23f : x;
    Bits<V> i = as<i32>(y), e = (i - 0x3f3504f3) >> 23;
    V f = as<float>((Bits<V>)(i - (e << 23))) - (V)1, n = convert<float>(e) + small;
    V p = polynomial(f, 0.0891613886f, -0.143492565f, 0.148772314f, -0.165657878f, 0.199653789f, -0.250017405f, 0.333338588f);
    V square = f * f;
    V low = mad(n, (V)1.42860677e-06f, f * square * p);
    V r = mad(n, (V)0.693145752f, mad(square, (V)-0.5f, low) + f);
    r = x == (V)__builtin_inff() ? x : r;
    r = x < (V)0 ? (V)__builtin_nanf("") : r;
    r = x == (V)0 ? (V)-__builtin_inff() : r;
    return x != x ? x : r;
  }
}

}  // namespace litz
