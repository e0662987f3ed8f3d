#pragma once
// exp and what is made of it, in float64: within 1 ulp, expm1 and sigmoid within 1.5 (docs/math/float64_functions.md).
// One reduction and one polynomial serve all of them; where a result needs more digits, e^x goes on as a pair.
#include "float64_pairs.h"

namespace litz::float64 {

// x = n ln2 + r, |r| <= ln2 / 2, with r = high - low not yet rounded; n times the first part of ln2 is exact.
template <class V>
struct ExpParts {
  V high, low;
  V whole;    // n
  Bits<V> n;  // n in the low bits
};
template <class V>
LITZ_INLINE ExpParts<V> split_exp(V x) {
  V t = mad(x, (V)0x1.71547652b82fep+0, (V)to_integer), n = t - (V)to_integer;
  return {mad(n, (V)-0x1.62e42fefa2p-1, x), n * (V)0x1.9ef35793c7673p-41, n, as<i64>(t)};
}
// e^r - 1 - high: what is left to add to it, small against r. The polynomial takes `high`, which is exact; then
// e^(high - low) = e^high - low e^high.
template <class V>
LITZ_INLINE V exp_rest(ExpParts<V> s) {
  V r = s.high, rest = r * r *
                       split_polynomial(r, 2.5114951372806869e-08, 2.7625520396728397e-07, 2.7557226679719909e-06, 2.480150785965372e-05,
                                        0.00019841269904011046, 0.0013888888927435237, 0.0083333333333144924, 0.041666666666602431,
                                        0.16666666666666685, 0.5);
  return mad(-s.low, ((V)1 + r) + rest, rest);
}
/// e^r as a pair.
template <class V>
LITZ_INLINE Pair<V> exp_pair(ExpParts<V> s) {
  Pair<V> e = fast_sum((V)1, s.high);
  return fast_sum(e.high, e.low + exp_rest(s));
}

template <class V>
LITZ_INLINE V exp(V x) {
  x = x > (V)710 ? (V)710 : x;
  x = x < (V)-746 ? (V)-746 : x;
  auto s = split_exp(x);
  return scale((exp_rest(s) + s.high) + (V)1, s.whole, s.n);
}
/// 2^x: the fraction is exact, ln2 times it enters as a pair.
template <class V>
LITZ_INLINE V exp2(V x) {
  x = x > (V)1025 ? (V)1025 : x;
  x = x < (V)-1077 ? (V)-1077 : x;
  V t = x + (V)to_integer, n = t - (V)to_integer, f = x - n;
  auto [high, low] = exact_product(f, (V)0x1.62e42fefa39efp-1);
  ExpParts<V> s = {high, mad(f, (V)-0x1.abc9e3b39803fp-56, -low), n, as<i64>(t)};
  return scale((exp_rest(s) + s.high) + (V)1, n, s.n);
}
/// 1 / (1 + e^-x), through e = e^-|x|: no overflow, and small results keep their digits. 1 + e is exact.
template <class V>
LITZ_INLINE V sigmoid(V x) {
  V e = exp(-abs(x));
  return quotient({x < (V)0 ? e : (V)1, (V)0}, fast_sum((V)1, e)).high;
}

// (e^x - 1) / 2^k for x in [-40, (1023 + k) ln2], relative to its own size.
template <int k, class V>
LITZ_INLINE Pair<V> scaled_expm1(V x) {
  auto s = split_exp(x);
  V power = power_of_two<V>(s.n, -k), unit = (V)(1.0 / (1 << k)), whole = power - unit, lost = (power - whole) - unit;
  Pair<V> e = fast_sum(whole, power * s.high);
  return fast_sum(e.high, mad(power, exp_rest(s), e.low + lost));
}
template <class V>
LITZ_INLINE V expm1(V x) {
  V b = x > (V)710 ? (V)710 : x;
  b = b < (V)-40 ? (V)-40 : b;
  V y = scaled_expm1<1>(b).high * (V)2;
  return abs(x) < (V)0x1p-54 ? x : y;
}
/// (e^2x - 1) / (e^2x + 1)
template <class V>
LITZ_INLINE V tanh(V x) {
  V a = abs(x);
  a = a > (V)20 ? (V)20 : a;
  auto e = scaled_expm1<0>(a + a);
  Pair<V> d = exact_sum((V)2, e.high);
  d.low += e.low;
  return copysign(quotient(e, d).high, x);
}
/// With q = (e^|x| - 1) / 4: 2 q + (2 q) / (4 q + 1), which overflows only where sinh does.
template <class V>
LITZ_INLINE V sinh(V x) {
  V a = abs(x), b = a > (V)710.6 ? (V)710.6 : a;
  auto q = scaled_expm1<2>(b);
  Pair<V> c = {q.high > (V)0x1p100 ? (V)0x1p100 : q.high, q.low}, d = exact_sum(c.high, (V)0.25);
  d.low += c.low;
  auto r = quotient(c, d);
  Pair<V> y = fast_sum(q.high, (V)0.25 * r.high);
  return copysign(a < (V)0x1p-30 ? a : (V)2 * (y.high + (y.low + mad((V)0.25, r.low, q.low))), x);
}
template <class V>
LITZ_INLINE V cosh(V x) {
  V a = abs(x);
  a = a > (V)710.6 ? (V)710.6 : a;
  auto s = split_exp(a);
  V power = power_of_two<V>(s.n, -2);
  Pair<V> e = exp_pair(s);
  e = {power * e.high, power * e.low};
  return (V)2 * (e.high + mad((V)0.0625, (V)1 / e.high, e.low));
}

}  // namespace litz::float64
