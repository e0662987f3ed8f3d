#pragma once
// Division with a quotient or remainder: exact, as eager's. Integer division by 0 gives 0 and a remainder of 0 (who
// must raise tests first), and the least integer divided by -1 wraps: dead lanes never trap.
#include "arithmetic.h"

namespace litz {

// Lane by lane a / b; narrow integers in double, whose quotients are exact enough: 1 / |b| is far above the rounding.
template <class V>
LITZ_INLINE V divide_integers(V a, V b) {
  using E = Element<V>;
  if constexpr (lanes<V> == 1) return (V)(a / b);
  else if constexpr (sizeof(E) <= 4) {
    // a divisor known when compiled becomes a multiplication
    if (__builtin_constant_p(b[0]) && __builtin_constant_p(b[lanes<V> - 1])) return a / b;
    using Wide = Choose<sizeof(E) == 4 && !is_signed<E>, i64, i32>;
    return convert<E>(convert<Wide>(convert<double>(a) / convert<double>(b)));
  } else return a / b;
}
// b, or 1 where dividing by it would trap; the quotient of the least integer and -1 is then itself.
template <class V>
LITZ_INLINE V safe_divisor(V a, V b) {
  using E = Element<V>;
  auto bad = b == (V)0;
  if constexpr (is_signed<E>) bad |= (a == (V)(E)((UnsignedOf<sizeof(E)>)1 << (8 * sizeof(E) - 1))) & (b == (V)(E)-1);
  return where(as_mask(bad), (V)1, b);
}

/// Integers: the quotient towards zero.
template <class V>
LITZ_INLINE V trunc_div(V a, V b) {
  if constexpr (is_float<Element<V>>) return trunc(a / b);
  else return where(as_mask(b == (V)0), (V)0, divide_integers(a, safe_divisor(a, b)));
}

// |a| mod |b| of floats: the quotient in double is at most one off while it is below 2^28; beyond, the C library.
template <class V>
LITZ_INLINE V fmod_float(V a, V b) {
  using D = Rebind<V, double>;
  D x = convert<double>(abs(a)), y = convert<double>(abs(b)), q = x / y;
  D r = x - trunc(q) * y;
  r = r < (D)0 ? r + y : r;
  r = r >= y ? r - y : r;
  r = x < y ? x : r;
  V result = copysign(convert<float>(r), a);
  if (__builtin_expect(some((q >= (D)0x1p28) & (q < (D)__builtin_inf())), 0))
    result = per_lane([](float s, float t) LITZ_BODY { return __builtin_fmodf(s, t); }, a, b);
  return result;
}
/// The remainder with the sign of a.
template <class V>
LITZ_INLINE V fmod(V a, V b) {
  using E = Element<V>;
  if constexpr (same<E, float>) return fmod_float(a, b);
  else if constexpr (same<E, double>) return per_lane([](double x, double y) LITZ_BODY { return __builtin_fmod(x, y); }, a, b);
  else {
    V d = safe_divisor(a, b);
    return where(as_mask(d != b), (V)0, sub(a, mul(divide_integers(a, d), d)));
  }
}
/// The remainder with the sign of b.
template <class V>
LITZ_INLINE V remainder(V a, V b) {
  V r = fmod(a, b);
  if constexpr (!is_signed<Element<V>>) return r;
  else return where(as_mask((r != (V)0) & ((r < (V)0) != (b < (V)0))), add(r, b), r);
}
/// The quotient towards minus infinity; of floats as torch.floor_divide defines it, through the remainder.
template <class V>
LITZ_INLINE V floor_div(V a, V b) {
  using E = Element<V>;
  if constexpr (is_float<E>) {
    V r = fmod(a, b), ratio = a / b;
    V q = (a - r) / b;
    q = ((r != (V)0) & ((b < (V)0) != (r < (V)0))) ? q - (V)1 : q;
    V whole = floor(q);
    whole = q - whole > (V)(E)0.5 ? whole + (V)1 : whole;
    whole = q == (V)0 ? copysign((V)0, ratio) : whole;
    return b == (V)0 ? ratio : whole;
  } else if constexpr (!is_signed<E>) return trunc_div(a, b);
  else {
    V d = safe_divisor(a, b), q = divide_integers(a, d), r = sub(a, mul(q, d));
    q = where(as_mask((r != (V)0) & ((r < (V)0) != (d < (V)0))), sub(q, (V)1), q);
    return where(as_mask(b == (V)0), (V)0, q);
  }
}

}  // namespace litz
