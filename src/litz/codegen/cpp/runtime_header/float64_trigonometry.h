#pragma once
// sin, cos, tan and the inverse functions in float64: below 1 ulp (docs/math/float64_functions.md). From 2^20 up an
// argument goes to the C library, lane by lane.
#include "float64_pairs.h"

namespace litz::float64 {

inline constexpr double largest_reduced = 0x1p20;

// x - n pi/2 = high + low, |high| <= pi/4, for |x| < 2^20: n has 20 bits and the first two parts of pi/2 have 33.
template <class V>
struct Quarter {
  V high, low;
  Bits<V> n;
};
template <class V>
LITZ_INLINE Quarter<V> reduce_half_pi(V x) {
  V t = mad(x, (V)0x1.45f306dc9c883p-1, (V)to_integer), n = t - (V)to_integer;
  V r = mad(n, (V)-0x1.921fb544p+0, x);
  Pair<V> p = exact_sum(r, n * (V)-0x1.0b4611a6p-34);
  p = fast_sum(p.high, mad(n, (V)-0x1.3198a2e037073p-69, p.low));
  return {p.high, p.low, as<i64>(t)};
}
// sin(high + low) - high, and cos(high + low) - (1 - high^2 / 2) with that difference as a pair.
template <class V>
LITZ_INLINE V sin_rest(Quarter<V> q, V z) {
  return mad(z * q.high,
             polynomial(z, 1.5896795745661732e-10, -2.505075848151351e-08, 2.7557313697307073e-06, -0.00019841269829835639,
                        0.0083333333333224721, -0.16666666666666632),
             q.low * mad(z, (V)-0.5, (V)1));
}
template <class V>
LITZ_INLINE Pair<V> cos_parts(Quarter<V> q, V z) {
  V half = (V)0.5 * z, one = (V)1 - half;
  return {one, (((V)1 - one) - half) + mad(z * z,
                                           polynomial(z, -1.1359865190985841e-11, 2.087572811286717e-09, -2.7557314393873024e-07,
                                                      2.4801587289652858e-05, -0.0013888888888874457, 0.041666666666666602),
                                           -q.high * q.low)};
}
// The lanes of x that reduce_half_pi does not reach, by f of the C library.
template <class F, class V>
LITZ_INLINE V with_large(F f, V x, V y) {
  if (__builtin_expect(some(abs(x) >= (V)largest_reduced), 0)) {
#pragma clang loop unroll(disable)
    for (int j = 0; j < lanes<V>; j++)
      if (__builtin_fabs(lane(x, j)) >= largest_reduced) set_lane(y, j, f(lane(x, j)));
  }
  return y;
}
template <class V>
LITZ_INLINE V sin_or_cos(V x, bool is_cos) {
  auto q = reduce_half_pi(x);
  V z = q.high * q.high, s = q.high + sin_rest(q, z);
  auto [one, rest] = cos_parts(q, z);
  Bits<V> n = is_cos ? q.n + 1 : q.n;
  V y = (n & 1) != 0 ? one + rest : s;
  return as<double>((Bits<V>)(as<i64>(y) ^ ((n & 2) << 62)));
}
template <class V>
LITZ_INLINE V sin(V x) {
  V y = sin_or_cos(x, false);
  return with_large([](double a) LITZ_BODY { return __builtin_sin(a); }, x, x == (V)0 ? x : y);
}
template <class V>
LITZ_INLINE V cos(V x) {
  return with_large([](double a) LITZ_BODY { return __builtin_cos(a); }, x, sin_or_cos(x, true));
}
template <class V>
LITZ_INLINE V tan(V x) {
  auto q = reduce_half_pi(x);
  V z = q.high * q.high;
  Pair<V> s = fast_sum(q.high, sin_rest(q, z)), c = cos_parts(q, z);
  c = fast_sum(c.high, c.low);
  auto odd = (q.n & 1) != 0;
  Pair<V> over = {odd ? -c.high : s.high, odd ? -c.low : s.low}, under = {odd ? s.high : c.high, odd ? s.low : c.low};
  V y = quotient(over, under).high;
  y = x == (V)0 ? x : y;
  return with_large([](double a) LITZ_BODY { return __builtin_tan(a); }, x, y);
}

// atan of the smaller of two sides over the larger, or pi/4 plus that of (smaller - larger) / (smaller + larger); then
// what turns it into the angle of (x, y), in [0, pi], where `steep` says |x| < y and `left` x < 0.
template <class V, class M>
LITZ_INLINE V angle(V smaller, V larger, M steep, M left) {
  auto turned = smaller > (V)0.41421356237309503 * larger;
  Pair<V> over = exact_sum(smaller, -larger), under = exact_sum(larger, smaller);
  over = {turned ? over.high : smaller, turned ? over.low : (V)0};
  under = {turned ? under.high : larger, turned ? under.low : (V)0};
  Pair<V> q = quotient(over, under);
  V z = q.high * q.high,
    rest = mad(z * q.high,
               split_polynomial(z, -0.017904106792915063, 0.038062200304957154, -0.050392313915745557, 0.058478776160209231,
                                -0.066631031064366547, 0.076920601939155911, -0.090908977603291433, 0.11111110783699697,
                                -0.14285714280205003, 0.19999999999953721, -0.33333333333333198),
               q.low);
  Pair<V> base = {left ? (V)0x1.921fb54442d18p+1 : (V)0, left ? (V)0x1.1a62633145c07p-53 : (V)0};
  base = {steep ? (V)0x1.921fb54442d18p+0 : base.high, steep ? (V)0x1.1a62633145c07p-54 : base.low};
  V sign = (steep != left) ? (V)-1 : (V)1, quarter = turned ? sign : (V)0;
  Pair<V> sum = fast_sum(base.high, quarter * (V)0x1.921fb54442d18p-1);
  V low = sum.low + mad(quarter, (V)0x1.1a62633145c07p-55, base.low);
  sum = fast_sum(sum.high, sign * q.high);
  return sum.high + (sum.low + mad(sign, rest, low));
}
template <class V>
LITZ_INLINE V atan(V x) {
  V a = abs(x);
  a = a > (V)0x1p60 ? (V)0x1p60 : a;
  auto steep = a > (V)1;
  V y = angle(steep ? (V)1 : a, steep ? a : (V)1, steep, a < (V)0);
  return copysign(y, x);
}
template <class V>
LITZ_INLINE V atan2(V y, V x) {
  V a = abs(x), b = abs(y);
  auto steep = b > a;
  V larger = steep ? b : a, smaller = steep ? a : b;
  // sides whose quotient is exact to the last place; two infinities or zeros count as equal or (0, 1)
  V by = larger > (V)0x1p500 ? (V)0x1p-300 : larger < (V)0x1p-100 ? (V)0x1p700 : (V)1;
  auto infinite = larger == (V)__builtin_inf();
  smaller = infinite ? (smaller == larger ? (V)1 : (V)0) : smaller * by;
  larger = (infinite | (larger == (V)0)) ? (V)1 : larger * by;
  V angle_of = angle(smaller, larger, steep, signbit_lanes(x));
  return copysign(y != y ? y : x != x ? x : angle_of, y);
}

// v + v^3 P(v^2) is asin(v) for v <= 1/2; beyond, v = sqrt((1 - |x|) / 2) with asin|x| = pi/2 - 2 asin(v).
template <class V>
struct Arc {
  V high, low;
};
template <class V, class M>
LITZ_INLINE Arc<V> arc_sine(V a, M big) {
  V z = big ? ((V)1 - a) * (V)0.5 : a * a, root = __builtin_elementwise_sqrt(z), v = big ? root : a;
  auto [square, lost] = exact_product(root, root);
  V low = ((z - square) - lost) / (root + root);
  low = (big & (root > (V)0)) ? low : (V)0;
  return {v,
          mad(v * z,
              split_polynomial(z, 0.032699410349889373, -0.021112140968007818, 0.021787271819142043, 0.0036736365068052576,
                               0.010788917964438276, 0.01139736873886529, 0.013981008777480122, 0.017351596360111382, 0.022372215855352706,
                               0.030381942677161967, 0.044642857175245791, 0.074999999999701389, 0.16666666666666763),
              low)};
}
template <class V>
LITZ_INLINE V asin(V x) {
  V a = abs(x);
  auto big = a > (V)0.5;
  auto v = arc_sine(a, big);
  Pair<V> sum = fast_sum((V)0x1.921fb54442d18p+0, (V)-2 * v.high);
  V far = sum.high + (sum.low + mad((V)-2, v.low, (V)0x1.1a62633145c07p-54));
  return copysign(big ? far : v.high + v.low, x);
}
/// 2 asin(v) above 1/2, pi - 2 asin(v) below -1/2, pi/2 - asin(x) between
template <class V>
LITZ_INLINE V acos(V x) {
  V a = abs(x);
  auto big = a > (V)0.5;
  auto v = arc_sine(a, big);
  auto positive = x > (V)0.5;
  V base = big ? (V)0x1.921fb54442d18p+1 : (V)0x1.921fb54442d18p+0, base_low = big ? (V)0x1.1a62633145c07p-53 : (V)0x1.1a62633145c07p-54;
  base = positive ? (V)0 : base;
  base_low = positive ? (V)0 : base_low;
  V factor = positive ? (V)2 : big ? (V)-2 : copysign((V)1, -x);
  Pair<V> sum = fast_sum(base, factor * v.high);
  return sum.high + (sum.low + mad(factor, v.low, base_low));
}

}  // namespace litz::float64
