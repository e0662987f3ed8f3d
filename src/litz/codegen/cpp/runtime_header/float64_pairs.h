#pragma once
// Unevaluated sums of two doubles, for the float64 functions that need more digits on the way than a double has. The
// bounds in docs/math/float64_functions.md hold with and without a fused multiply-add.
#include "arithmetic.h"

namespace litz::float64 {

template <class V>
struct Pair {
  V high, low;
};
/// a + b exactly where |a| >= |b| or a is 0.
template <class V>
LITZ_INLINE Pair<V> fast_sum(V a, V b) {
  V s = a + b;
  return {s, b - (s - a)};
}
/// a + b exactly.
template <class V>
LITZ_INLINE Pair<V> exact_sum(V a, V b) {
  V s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
/// a * b exactly while no part of it overflows or vanishes.
template <class V>
LITZ_INLINE Pair<V> exact_product(V a, V b) {
  V p = a * b;
#if LITZ_FUSED
  return {p, fma(a, b, -p)};
#else
  V s = a * (V)134217729.0, t = b * (V)134217729.0, a1 = s - (s - a), b1 = t - (t - b), a2 = a - a1, b2 = b - b1;
  return {p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
}
template <class V>
LITZ_INLINE Pair<V> product(Pair<V> a, Pair<V> b) {
  auto [high, low] = exact_product(a.high, b.high);
  return {high, low + mad(a.high, b.low, a.low * b.high)};
}
/// a / b to about 2^-100 where b.high is neither huge nor tiny.
template <class V>
LITZ_INLINE Pair<V> quotient(Pair<V> a, Pair<V> b) {
  V inverse = (V)1 / b.high, q = a.high * inverse;
#if LITZ_FUSED
  V rest = fma(-q, b.high, a.high);
#else
  auto [high, low] = exact_product(q, b.high);
  V rest = (a.high - high) - low;
#endif
  return fast_sum(q, mad(-q, b.low, rest + a.low) * inverse);
}

/// polynomial(x, ...) as even and odd powers: two chains of half the length, for long ones that everything waits for.
template <class V, class... C>
LITZ_INLINE V split_polynomial(V x, double highest, double second, C... rest) {
  V z = x * x, before = (V)highest, last = (V)second;
  auto next = [&](double c) LITZ_BODY {
    V r = mad(before, z, (V)c);
    before = last;
    last = r;
  };
  (next(rest), ...);
  return mad(before, x, last);
}

// 2^(n + k) with n in the low bits of a double of about 1.5 * 2^52; the exponent must be that of a normal number.
template <class V>
LITZ_INLINE V power_of_two(Bits<V> n, int k = 0) {
  return as<double>((Bits<V>)((n << 52) + (((i64)1023 + k) << 52)));
}
// Adding it to a double below 2^51 leaves the nearest integer in the low bits.
inline constexpr double to_integer = 0x1.8p52;

/// p 2^n, rounded once, for n in [-2040, 2040] with p near 1; whole = n, as in ExpParts.
template <class V>
LITZ_INLINE V scale(V p, V whole, Bits<V> n) {
  Bits<V> half = as<i64>(mad(whole, (V)0.5, (V)to_integer));
  return p * power_of_two<V>(half) * power_of_two<V>(n - half);
}

}  // namespace litz::float64
