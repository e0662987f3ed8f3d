#pragma once
// exp2, expm1, the other logarithms, pow, the hyperbolic functions and their inverses, erfc, erfinv, hypot, lgamma,
// digamma, nextafter. In float they are computed in double and rounded once. float64 has headers of its own
// (float64.h), but for erfinv, hypot, lgamma and digamma, which go to the C library, lane by lane.
#include "double_precision.h"
#include "trigonometry.h"

namespace litz {

template <class V>
LITZ_INLINE Rebind<V, double> limit(V x, double low, double high) {
  using D = Rebind<V, double>;
  D d = convert<double>(x);
  d = d > (D)high ? (D)high : d;
  return d < (D)low ? (D)low : d;
}
template <class V>
LITZ_INLINE V exp2(V x) {
  LITZ_FLOAT64(exp2(x));
  else {
    using D = Rebind<V, double>;
    D d = limit(x, -160, 130), magic = (D)0x1.8p52, t = d + magic, r = (d - (t - magic)) * (D)0x1.62e42fefa39efp-1;
    return convert<float>(polynomial(r, 2.4887816849657255e-05, 0.00019909366496349688, 0.0013888795965706687, 0.0083332810831831736,
                                     0.041666667057227727, 0.16666666787276507, 0.49999999999513639, 1.0, 1.0) *
                          as<double>((Bits<D>)((as<i64>(t) << 52) + 0x3ff0000000000000)));
  }
}
template <class V>
LITZ_INLINE V expm1(V x) {
  LITZ_FLOAT64(expm1(x));
  else return where(eq(x, (V)0), x, convert<float>(expm1_wide(limit(x, -50, 100)))); }
template <class V>
LITZ_INLINE V log2(V x) {
  LITZ_FLOAT64(log2(x));
  else {
    using D = Rebind<V, double>;
    D d = convert<double>(x);
    auto [n, l] = split_log(d);
    return convert<float>(log_special(d, mad(l, (D)0x1.71547652b82fep+0, n)));
  }
}
template <class V>
LITZ_INLINE V log10(V x) {
  LITZ_FLOAT64(log10(x));
  else {
    using D = Rebind<V, double>;
    return convert<float>(log_wide(convert<double>(x)) * (D)0x1.bcb7b1526e50ep-2);
  }
}
template <class V>
LITZ_INLINE V log1p(V x) {
  LITZ_FLOAT64(log1p(x));
  else return convert<float>(log1p_wide(convert<double>(x))); }
template <class V>
LITZ_INLINE V sinh(V x) {
  LITZ_FLOAT64(sinh(x));
  else {
    using D = Rebind<V, double>;
    D e = expm1_wide(limit(abs(x), 0, 100));
    return copysign(convert<float>((D)0.5 * (e + e / (e + (D)1))), x);
  }
}
template <class V>
LITZ_INLINE V cosh(V x) {
  LITZ_FLOAT64(cosh(x));
  else {
    using D = Rebind<V, double>;
    D e = exp_wide(limit(abs(x), 0, 100));
    return convert<float>((D)0.5 * (e + (D)1 / e));
  }
}
template <class V>
LITZ_INLINE V asinh(V x) {
  LITZ_FLOAT64(asinh(x));
  else {
    using D = Rebind<V, double>;
    D a = convert<double>(abs(x)), s = a * a, root = __builtin_elementwise_sqrt(s + (D)1);
    D u = a == (D)__builtin_inf() ? a : a + s / (root + (D)1);
    return copysign(convert<float>(log1p_wide(u)), x);
  }
}
template <class V>
LITZ_INLINE V acosh(V x) {
  LITZ_FLOAT64(acosh(x));
  else {
    using D = Rebind<V, double>;
    D u = convert<double>(x) - (D)1;
    u = u < (D)0 ? (D)__builtin_nan("") : u;
    return convert<float>(log1p_wide(u + __builtin_elementwise_sqrt(u * (u + (D)2))));
  }
}
template <class V>
LITZ_INLINE V atanh(V x) {
  LITZ_FLOAT64(atanh(x));
  else {
    using D = Rebind<V, double>;
    D a = convert<double>(abs(x));
    return copysign(convert<float>((D)0.5 * log1p_wide((a + a) / ((D)1 - a))), x);
  }
}
/// erfc |x| = e^(-x^2) / (1 + |x|) times a polynomial in (|x| - 2) / (|x| + 2)
template <class V>
LITZ_INLINE V erfc(V x) {
  LITZ_FLOAT64(erfc(x));
  else {
    using D = Rebind<V, double>;
    D d = limit(x, -10.6, 10.6), a = abs(d);
    D t = (a - (D)2) / (a + (D)2);
    D y = exp_wide(-a * a) *
          polynomial(t, -3.1136299263193616e-06, -1.2961147764489823e-05, -7.0900835016224035e-06, 5.8617821808687668e-05,
                     0.0001157397834130939, -0.00013891839536687907, -0.00070609114761961103, 0.00014448107285236015, 0.003937646664543981,
                     -0.00051825670259305723, -0.025243544280585142, 0.042536348547850981, 0.037813897975177028, -0.25997483698456353,
                     0.76618702893333979) /
          ((D)1 + a);
    return convert<float>(d < (D)0 ? (D)2 - y : y);
  }
}
// The float answer, then two steps of Newton's method.
LITZ_SLOW double erfinv_lane(double x);
template <class V>
LITZ_INLINE V erfinv(V x) {
  if constexpr (same<Element<V>, double>) return per_lane([](double a) LITZ_BODY { return erfinv_lane(a); }, x);
  else {
    using D = Rebind<V, double>;
    D d = convert<double>(x), w = -log_wide(((D)1 - d) * ((D)1 + d));
    D root = __builtin_elementwise_sqrt(w) - (D)3, v = w - (D)2.5;
    D near =
        polynomial(v, -6.2096242897339055e-13, -2.060391970521694e-11, 1.3554625257292933e-10, 8.2143850415230352e-10,
                   -1.0951282542931925e-08, 1.3770835033700423e-08, 4.7900394821363972e-07, -3.4173729810113708e-06, -4.996526410321179e-06,
                   0.00021825102815303574, -0.0012527075896631302, -0.0041773180139106905, 0.24664027667804186, 1.5014093511286006);
    D far =
        polynomial(root, -3.3859660755806823e-06, 1.7214684054312355e-05, -2.3380433585541683e-05, -4.2236919606814262e-05,
                   0.00020478040453887758, -0.00028496444916453273, -0.00014842549741488504, 0.001484157235119816, -0.0035588993688002624,
                   0.0056851349699158903, -0.0076437965825166716, 0.0094455241252921675, 1.0016752764899546, 2.8329767987120977);
    V y = convert<float>(d * (w < (D)5 ? near : far));
    return where(eq(abs(x), (V)1), copysign((V)__builtin_inff(), x), y);
  }
}
LITZ_SLOW double erfinv_lane(double x) {
  double a = __builtin_fabs(x);
  if (!(a < 1)) return a == 1 ? __builtin_copysign(__builtin_inf(), x) : __builtin_nan("");
  double y = erfinv(a > 0x1.fffffep-1 ? 0x1.fffffep-1f : (float)a);
  for (int step = 0; step < 3; step++)
    y -= (a > 0.5 ? (1 - a) - __builtin_erfc(y) : __builtin_erf(y) - a) * (a > 0.5 ? -1 : 1) * 0.88622692545275801 * __builtin_exp(y * y);
  return __builtin_copysign(y, x);
}
template <class V>
LITZ_INLINE V hypot(V x, V y) {
  if constexpr (same<Element<V>, double>) return per_lane([](double a, double b) LITZ_BODY { return __builtin_hypot(a, b); }, x, y);
  else {
    auto a = convert<double>(x), b = convert<double>(y);
    V r = convert<float>(__builtin_elementwise_sqrt(a * a + b * b));
    return where(logical_or(isinf(x), isinf(y)), (V)__builtin_inff(), r);
  }
}
template <class V>
LITZ_INLINE V lgamma(V x) {
  return per_lane([](Element<V> a) LITZ_BODY { return (Element<V>)__builtin_lgamma((double)a); }, x);
}
// Reflection below 0, recurrence up to 10, then the asymptotic series.
LITZ_SLOW double digamma_lane(double x) {
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  double result = 0;
  if (x < 0) {
    double whole = __builtin_trunc(x), part = x - whole;
    if (part == 0) return __builtin_nan("");
    result = -3.141592653589793 / __builtin_tan(3.141592653589793 * part);
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  if (x == __builtin_inf()) return x;
  double z = 1 / (x * x);
  double series = z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));
  return result + __builtin_log(x) - 0.5 / x - series;
}
template <class V>
LITZ_INLINE V digamma(V x) {
  return per_lane([](Element<V> a) LITZ_BODY { return (Element<V>)digamma_lane((double)a); }, x);
}
/// The next value of the format of dtype T from a towards b (T is float, double or a small float in its float form).
template <class T, class V>
LITZ_INLINE V nextafter_of(V a, V b) {
  if constexpr (is_small_float<T>) {
    auto x = convert<i32>(encode<T>(a));
    constexpr i32 sign = same<Memory<T>, u16> ? 0x8000 : 0x80;
    auto up = (a < b) == (a > (V)0);  // away from 0
    auto moved = where(as_mask(up), x + 1, x - 1);
    moved = where(as_mask(a == (V)0), where(as_mask(b > (V)0), (Bits<V>)1, (Bits<V>)(sign | 1)), moved);
    V r = decode<T>(convert<Memory<T>>(moved));
    return where(as_mask(a != a), a, where(as_mask(b != b), b, where(as_mask(a == b), b, r)));
  } else {
    Bits<V> x = as<Element<Bits<V>>>(a);
    constexpr Element<Bits<V>> sign = (Element<Bits<V>>)1 << (8 * sizeof(T) - 1);
    Bits<V> moved = where(logical_xor(lt(a, b), lt(a, (V)0)), x + 1, x - 1);
    moved = where(as_mask(a == (V)0), where(as_mask(b > (V)0), (Bits<V>)1, (Bits<V>)(sign | 1)), moved);
    return where(as_mask(a != a), a, where(as_mask(b != b), b, where(as_mask(a == b), b, as<Element<V>>(moved))));
  }
}
template <class V>
LITZ_INLINE V nextafter(V a, V b) {
  return nextafter_of<Element<V>>(a, b);
}

/// As torch.pow of two tensors. Integers wrap; a negative exponent gives 0 but for the bases 1 and -1.
template <class V>
LITZ_INLINE V pow(V a, V b) {
  using E = Element<V>;
  if constexpr (same<E, double>) return float64::pow(a, b);
  else if constexpr (same<E, float>) {
    using D = Rebind<V, double>;
    D x = convert<double>(abs(a)), y = convert<double>(b);
    auto [n, l] = split_log(x);
    D t = y * log_special(x, mad(l, (D)0x1.71547652b82fep+0, n));
    t = t > (D)200 ? (D)200 : t;
    t = t < (D)-200 ? (D)-200 : t;
    D magic = (D)0x1.8p52, k = t + magic, r = (t - (k - magic)) * (D)0x1.62e42fefa39efp-1;
    V p = convert<float>(polynomial(r, 2.4887816849657255e-05, 0.00019909366496349688, 0.0013888795965706687, 0.0083332810831831736,
                                    0.041666667057227727, 0.16666666787276507, 0.49999999999513639, 1.0, 1.0) *
                         as<double>((Bits<D>)((as<i64>(k) << 52) + 0x3ff0000000000000)));
    V whole = trunc(b), half = whole * (V)0.5f;
    // an infinite or huge b is even
    auto is_odd = (whole == b) & (trunc(half) != half);
    p = ((a < (V)0) & (a > (V)-__builtin_inff()) & (whole != b)) ? (V)__builtin_nanf("") : p;
    p = (signbit_lanes(a) & is_odd) ? -p : p;
    return ((b == (V)0) | (a == (V)1) | ((a == (V)-1) & (abs(b) == (V)__builtin_inff()))) ? (V)1 : p;
  } else {
    return per_lane(
        [](E base, E exponent) -> E {
          using U = UnsignedOf<(sizeof(E) < 4 ? 4 : sizeof(E))>;
          if constexpr (is_signed<E>)
            if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
          U result = 1, factor = (U)base;
          for (UnsignedOf<sizeof(E)> left = exponent; left; left >>= 1, factor *= factor)
            if (left & 1) result *= factor;
          return (E)result;
        },
        a, b);
  }
}

}  // namespace litz
