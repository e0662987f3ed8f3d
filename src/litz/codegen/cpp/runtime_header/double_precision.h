#pragma once
// exp and log in double for float functions that need more digits than float has: accurate to about 2^-39 (exp) and
// 2^-51 (log), for arguments within float's range. Rounded to float once, a result is off by half an ulp and a trace.
// float64 functions proper: float64.h.
#include "arithmetic.h"

namespace litz {

/// exp(x) for |x| < 700
template <class D>
LITZ_INLINE D exp_wide(D x) {
  D magic = (D)0x1.8p52, t = mad(x, (D)0x1.71547652b82fep+0, magic), n = t - magic;
  D r = mad(n, (D)-0x1.9ef35793c7673p-41, mad(n, (D)-0x1.62e42fefa2p-1, x));
  return polynomial(r, 2.4887816849657255e-05, 0.00019909366496349688, 0.0013888795965706687, 0.0083332810831831736, 0.041666667057227727,
                    0.16666666787276507, 0.49999999999513639, 1.0, 1.0) *
         as<double>((Bits<D>)((as<i64>(t) << 52) + 0x3ff0000000000000));
}
/// exp(x) - 1 with relative accuracy, |x| < 700
template <class D>
LITZ_INLINE D expm1_wide(D x) {
  D magic = (D)0x1.8p52, t = mad(x, (D)0x1.71547652b82fep+0, magic), n = t - magic;
  D r = mad(n, (D)-0x1.9ef35793c7673p-41, mad(n, (D)-0x1.62e42fefa2p-1, x));
  D p = mad(r * r,
            polynomial(r, 2.4887816849657255e-05, 0.00019909366496349688, 0.0013888795965706687, 0.0083332810831831736,
                       0.041666667057227727, 0.16666666787276507, 0.49999999999513639),
            r),
    power = as<double>((Bits<D>)((as<i64>(t) << 52) + 0x3ff0000000000000));
  return mad(power, p, power - (D)1);
}
template <class D>
struct LogParts {
  D n, log;  // x = 2^n m, log(m); |log| <= ln2 / 2
};
// normal, positive, finite x
template <class D>
LITZ_INLINE LogParts<D> split_log(D x) {
  Bits<D> i = as<i64>(x), e = (i - 0x3fe6a09e667f3bcd) >> 52;
  D m = as<double>((Bits<D>)(i - (e << 52)));
  D s = (m - (D)1) / (m + (D)1);
  // e as a double: 1.5 * 2^52 + e by its bits
  D n = as<double>((Bits<D>)(e + 0x4338000000000000)) - (D)0x1.8p52;
  return {n, s * polynomial(s * s, 0.16820460196894463, 0.18123591667634389, 0.2222337318095273, 0.2857141710999857, 0.40000000052386242,
                            0.66666666666587004, 2.0)};
}
// log's special values: NaN below 0, -inf at 0, inf and NaN as they are
template <class D>
LITZ_INLINE D log_special(D x, D y) {
  y = x == (D)__builtin_inf() ? x : y;
  y = x < (D)0 ? (D)__builtin_nan("") : y;
  y = x == (D)0 ? (D)-__builtin_inf() : y;
  return x != x ? x : y;
}
template <class D>
LITZ_INLINE D log_wide(D x) {
  auto [n, l] = split_log(x);
  return log_special(x, mad(n, (D)0x1.62e42fefa39efp-1, l));
}
/// log(1 + u) with relative accuracy
template <class D>
LITZ_INLINE D log1p_wide(D u) {
  D w = (D)1 + u, lost = u - (w - (D)1);
  D y = log_wide(w), fixed = y + lost / w;
  return w == (D)1 ? u : abs(y) == (D)__builtin_inf() ? y : fixed;
}

}  // namespace litz
