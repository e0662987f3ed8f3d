#pragma once
// erf and erfc in float64: below 1.5 ulp (docs/math/float64_functions.md).
#include "float64_exponential.h"

namespace litz::float64 {

// erf(x) / x - 1 for |x| < 1
template <class V>
LITZ_INLINE V erf_near(V x) {
  V z = x * x;
  return split_polynomial(z, 1.6369828680943681e-10, -1.7623651178252141e-09, 1.6301532479790708e-08, -1.6598031785374176e-07,
                          1.6484704691005518e-06, -1.4927093497416077e-05, 0.00012055394284094094, -0.00085483287343009358,
                          0.0052239776556727048, -0.026866170648280271, 0.11283791670972063, -0.37612638903184109, 0.12837916709551259);
}
/// Near 0 a polynomial in x^2; from 1 on 1 - e^-q(|x|) with q = -log(erfc).
template <class V>
LITZ_INLINE V erf(V x) {
  V a = abs(x), b = a > (V)5.95 ? (V)5.95 : a, near = mad(x, erf_near(x), x);
  V v = b - (V)1;
  auto s = split_exp(-split_polynomial(v, 5.4501465065496145e-14, -2.0895238088951359e-12, 3.6691314523979376e-11, -3.9081619356934399e-10,
                                       2.8075167866446657e-09, -1.4148468176291176e-08, 4.8688331663771693e-08, -8.858434946104668e-08,
                                       -1.5929221063484112e-07, 2.0812063733134062e-06, -9.629126034328897e-06, 2.7172892469899639e-05,
                                       -2.6284570802209543e-05, -0.00023732021659627191, 0.0019779020551032472, -0.010033825301388931,
                                       0.041561098035921964, 0.84310725635889505, 2.6389675142347864, 1.8496055099332482));
  V power = power_of_two<V>(s.n), far = (V)1 - mad(power, exp_rest(s) + s.high, power);
  return a < (V)1 ? near : copysign(far, x);
}
/// Near 0 1 - erf; from 1/2 on e^(-x^2) / (1 + |x|) times a polynomial in (|x| - 2) / (|x| + 2), and 2 minus that below 0.
template <class V>
LITZ_INLINE V erfc(V x) {
  auto [one, lost] = fast_sum((V)1, -x);
  V near = one + mad(-x, erf_near(x), lost);
  V a = abs(x), b = a > (V)28 ? (V)28 : a;
  Pair<V> square = exact_product(b, b);
  auto s = split_exp(-square.high);
  s.low += square.low;
  Pair<V> divisor = exact_sum((V)1, b);
  V t = quotient(exact_sum(b, (V)-2), exact_sum(b, (V)2)).high;
  Pair<V> g =
      fast_sum((V)0.76618702893151724,
               t * split_polynomial(t, -6.9854243611325495e-08, 2.382927536101869e-07, 6.6511306299845194e-08, -6.5560303501944006e-07,
                                    -4.6031530754681282e-07, 7.0065598298168494e-07, 2.3809692079771071e-06, 2.3710276542390471e-06,
                                    -4.8503534913370617e-06, -1.7495274838372714e-05, -7.7424084561135786e-06, 6.1726478035804312e-05,
                                    0.00011694716535047541, -0.00013998954276024655, -0.00070662925725655239, 0.00014468095495988098,
                                    0.0039377553161734254, -0.00051827667123419184, -0.025243554293884578, 0.042536349508850956,
                                    0.03781389831358694, -0.25997483699985219));
  V far = scale(quotient(product(g, exp_pair(s)), divisor).high, s.whole, s.n);
  return a < (V)0.5 ? near : x < (V)0 ? (V)2 - far : far;
}

}  // namespace litz::float64
