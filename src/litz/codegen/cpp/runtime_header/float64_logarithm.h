#pragma once
// Logarithms, the inverse hyperbolic functions and pow in float64: below 1 ulp (docs/math/float64_functions.md).
#include "double_precision.h"
#include "float64_exponential.h"

namespace litz::float64 {

// x = 2^n m with m in [sqrt(1/2), sqrt(2)); f = m - 1 is exact. `double_inverse` is 2^(1-n), 0 where that would be subnormal.
template <class V>
struct Mantissa {
  V n, f, double_inverse;
};
// positive, normal, finite x
template <class V>
LITZ_INLINE Mantissa<V> split_mantissa(V x) {
  using U = UBits<V>;
  U i = as<u64>(x), u = i + (U)(0x3ff0000000000000 - 0x3fe6a09e667f3bcd), e = u & (U)0xfff0000000000000;
  V n = as<double>((U)((u >> 52) | (U)0x4330000000000000)) - (V)(0x1p52 + 1023);
  return {n, as<double>((U)(i - e + (U)0x3ff0000000000000)) - (V)1, as<double>((U)((U)0x7ff0000000000000 - e))};
}
// The same for any positive x: subnormals are scaled first.
template <class V>
LITZ_INLINE Mantissa<V> split_any_mantissa(V x) {
  auto tiny = x < (V)0x1p-1022;
  auto m = split_mantissa(tiny ? x * (V)0x1p54 : x);
  m.n = tiny ? m.n - (V)54 : m.n;
  return m;
}
/// log(1 + f) as a pair with 2^-60 or better: f - f^2/2 + s (f^2/2 + s^2 R(s^2)) with s = f / (2 + f).
template <class V>
LITZ_INLINE Pair<V> log_of_mantissa(V f) {
  V s = f / (f + (V)2), z = s * s, half = (V)0.5 * f * f;
  V r = z * polynomial(z, 0.14798287238384811, 0.15313829620481531, 0.18183572442440649, 0.22222198427537043, 0.2857142874369778,
                       0.39999999999409319, 0.66666666666667351);
  auto [high, low] = fast_sum(f, -half);
  return {high, mad(s, half + r, low)};
}
/// n ln2 + p
template <class V>
LITZ_INLINE V add_exponent(V n, Pair<V> p) {
  auto [high, low] = fast_sum(n * (V)0x1.62e42fefa2p-1, p.high);
  return high + (low + mad(n, (V)0x1.9ef35793c7673p-41, p.low));
}

template <class V>
LITZ_INLINE V log(V x) {
  auto m = split_any_mantissa(x);
  return log_special(x, add_exponent(m.n, log_of_mantissa(m.f)));
}
template <class V>
LITZ_INLINE V log2(V x) {
  auto m = split_any_mantissa(x);
  auto p = product(log_of_mantissa(m.f), {(V)0x1.71547652b82fep+0, (V)0x1.777d0ffda0d24p-56});
  auto [high, low] = fast_sum(m.n, p.high);
  return log_special(x, high + (low + p.low));
}
template <class V>
LITZ_INLINE V log10(V x) {
  auto m = split_any_mantissa(x);
  auto p = product(log_of_mantissa(m.f), {(V)0x1.bcb7b1526e50ep-2, (V)0x1.95355baaafad3p-57});
  auto [high, low] = fast_sum(m.n * (V)0x1.34413509f8p-2, p.high);  // 38 bits: exact
  return log_special(x, high + (low + mad(m.n, (V)-0x1.80433b83b532ap-44, p.low)));
}

// log(w + lost) + ln2 * more for w >= 2^-53 and lost below the last place of w
template <class V>
LITZ_INLINE V log_sum(V w, V lost, V more) {
  auto m = split_mantissa(w);
  auto p = log_of_mantissa(m.f);
  // lost / w, with 1 / (1 + f) to f^3: for small f all digits count, for large ones few
  p.low = mad((V)0.5 * lost * m.double_inverse, mad(m.f, m.f - (V)1, (V)1), p.low);
  return add_exponent(m.n + more, p);
}
template <class V>
LITZ_INLINE V log1p(V x) {
  auto [w, lost] = exact_sum((V)1, x);
  V y = log_sum(w, lost, (V)0);
  return log_special(w, w == (V)1 ? x : y);
}
/// log(a + sqrt(a^2 + 1)) for a = |x|, as log1p of a + a^2 / (1 + sqrt(a^2 + 1)).
template <class V>
LITZ_INLINE V asinh(V x) {
  V a = abs(x);
  auto large = a > (V)0x1p28;
  V b = large ? (V)1 : a;
  Pair<V> square = exact_product(b, b), inside = exact_sum(square.high, (V)1);
  inside.low += square.low;
  V root = __builtin_elementwise_sqrt(inside.high);
  Pair<V> back = exact_product(root, root);
  V root_low = ((inside.high - back.high) - back.low + inside.low) / (root + root);
  Pair<V> divisor = exact_sum(root, (V)1);
  divisor.low += root_low;
  Pair<V> q = quotient(square, divisor), u = fast_sum(b, q.high), w = exact_sum((V)1, u.high);
  V y = log_sum(large ? a : w.high, large ? (V)0 : w.low + (u.low + q.low), large ? (V)1 : (V)0);
  y = a < (V)0x1p-27 ? a : y;
  y = a < (V)__builtin_inf() ? y : a;
  return copysign(y, x);
}
/// log1p of u + sqrt(u (u + 2)) with u = x - 1
template <class V>
LITZ_INLINE V acosh(V x) {
  auto large = x > (V)0x1p28;
  V u = (large ? (V)2 : x) - (V)1;
  Pair<V> two = exact_sum(u, (V)2), square = product({u, (V)0}, two);
  V root = __builtin_elementwise_sqrt(square.high);
  Pair<V> back = exact_product(root, root);
  V root_low = ((square.high - back.high) - back.low + square.low) / (root + root);
  root_low = root == (V)0 ? (V)0 : root_low;
  Pair<V> sum = exact_sum(u, root), w = exact_sum((V)1, sum.high);
  V y = log_sum(large ? x : w.high, large ? (V)0 : w.low + (sum.low + root_low), large ? (V)1 : (V)0);
  y = x < (V)1 ? (V)__builtin_nan("") : y;
  return x < (V)__builtin_inf() ? y : x;
}
/// log1p(2a / (1 - a)) / 2 for a = |x|
template <class V>
LITZ_INLINE V atanh(V x) {
  V a = abs(x);
  Pair<V> q = quotient({a + a, (V)0}, exact_sum((V)1, -a)), w = exact_sum((V)1, q.high);
  V y = (V)0.5 * log_sum(w.high, w.low + q.low, (V)0);
  y = a < (V)0x1p-28 ? a : y;
  y = a == (V)1 ? (V)__builtin_inf() : y;
  return copysign(a > (V)1 ? (V)__builtin_nan("") : y, x);
}

/// log(1 + f) to about 2^-66: 2 s + s^3 (2/3 + s^2 P(s^2)) with s and s^3 as pairs.
template <class V>
LITZ_INLINE Pair<V> exact_log_of_mantissa(V f) {
  Pair<V> s = quotient({f, (V)0}, fast_sum((V)2, f)), z = product(s, s);
  V p = z.high * polynomial(z.high, 0.13196835398692672, 0.13256764686207922, 0.15386759540810935, 0.18181784320733727, 0.22222222520434035,
                            0.28571428570096824, 0.40000000000002262);
  Pair<V> c = fast_sum((V)0x1.5555555555555p-1, p);
  c.low += (V)0x1.5555555555555p-55;
  Pair<V> u = product(product(s, z), c), sum = fast_sum(s.high + s.high, u.high);
  return {sum.high, sum.low + (s.low + s.low + u.low)};
}
/// e^(b log |a|) with the product as a pair; then the cases that torch.pow has.
template <class V>
LITZ_INLINE V pow(V a, V b) {
  V x = abs(a);
  auto m = split_any_mantissa(x);
  auto p = exact_log_of_mantissa(m.f);
  Pair<V> l = fast_sum(m.n * (V)0x1.62e42fefa2p-1, p.high);
  l = fast_sum(l.high, mad(m.n, (V)0x1.9ef35793c7673p-41, l.low + p.low));
  l.high = log_special(x, l.high);
  V c = abs(b) > (V)0x1p100 ? copysign((V)0x1p100, b) : b;  // as good as infinite, and no logarithm but 0 stays finite
  auto [high, low] = exact_product(l.high, c);
  low = mad(l.low, c, low);
  auto limited = abs(high) > (V)750;
  low = limited ? (V)0 : low;
  high = limited ? copysign((V)750, high) : high;
  auto s = split_exp(high);
  s.low -= low;
  V y = scale((exp_rest(s) + s.high) + (V)1, s.whole, s.n);
  V whole = trunc(b), half = whole * (V)0.5;
  auto is_odd = (whole == b) & (trunc(half) != half);  // an infinite or huge b is even
  y = ((a < (V)0) & (a > (V)-__builtin_inf()) & (whole != b)) ? (V)__builtin_nan("") : y;
  y = (signbit_lanes(a) & is_odd) ? -y : y;
  return ((b == (V)0) | (a == (V)1)) ? (V)1 : y;
}

}  // namespace litz::float64
