#pragma once
// Arithmetic, rounding, comparisons, selection and bit operations on every dtype that PyTorch has them for. Integers
// wrap. Both operands have one type: splat a scalar first. Results are eager's to the bit, unless a comment says
// otherwise.
#include "convert.h"

namespace litz {

template <class V>
LITZ_INLINE V add(V a, V b) {
  if constexpr (is_float<Element<V>>) return a + b;
  else return as<Element<V>>((UBits<V>)(as<Element<UBits<V>>>(a) + as<Element<UBits<V>>>(b)));
}
template <class V>
LITZ_INLINE V sub(V a, V b) {
  if constexpr (is_float<Element<V>>) return a - b;
  else return as<Element<V>>((UBits<V>)(as<Element<UBits<V>>>(a) - as<Element<UBits<V>>>(b)));
}
template <class V>
LITZ_INLINE V mul(V a, V b) {
  if constexpr (is_float<Element<V>>) return a * b;
  else if constexpr (lanes<V> == 1 && sizeof(V) < 4) return (V)((u32)a * (u32)b);
  else return as<Element<V>>((UBits<V>)(as<Element<UBits<V>>>(a) * as<Element<UBits<V>>>(b)));
}
/// Floating-point division (integers are cast first).
template <class V>
LITZ_INLINE V div(V a, V b) {
  static_assert(is_float<Element<V>>, "div is floating-point division; integers have trunc_div and floor_div");
  return a / b;
}
/// a * b + c rounded once; only where the source asks for it by name.
template <class V>
LITZ_INLINE V fma(V a, V b, V c) {
  return __builtin_elementwise_fma(a, b, c);
}
template <class V>
LITZ_INLINE V neg(V a) {
  if constexpr (is_float<Element<V>>) return -a;
  else return sub((V)0, a);
}
template <class V>
LITZ_INLINE V abs(V a) {
  if constexpr (is_float<Element<V>>) return __builtin_elementwise_abs(a);
  else if constexpr (is_signed<Element<V>>) return where(as_mask(a < (V)0), neg(a), a);
  else return a;
}
template <class V>
LITZ_INLINE V copysign(V magnitude, V sign) {
  return __builtin_elementwise_copysign(magnitude, sign);
}

// ---- comparisons: masks; NaN is unequal to everything ----
template <class V>
LITZ_INLINE Mask<lanes<V>> eq(V a, V b) {
  return as_mask(a == b);
}
template <class V>
LITZ_INLINE Mask<lanes<V>> ne(V a, V b) {
  return as_mask(a != b);
}
template <class V>
LITZ_INLINE Mask<lanes<V>> lt(V a, V b) {
  return as_mask(a < b);
}
template <class V>
LITZ_INLINE Mask<lanes<V>> le(V a, V b) {
  return as_mask(a <= b);
}
template <class V>
LITZ_INLINE Mask<lanes<V>> gt(V a, V b) {
  return as_mask(a > b);
}
template <class V>
LITZ_INLINE Mask<lanes<V>> ge(V a, V b) {
  return as_mask(a >= b);
}
template <int N>
LITZ_INLINE LaneMask<N> eq(LaneMask<N> a, LaneMask<N> b) {
  return {~(a.m ^ b.m)};
}
template <int N>
LITZ_INLINE LaneMask<N> ne(LaneMask<N> a, LaneMask<N> b) {
  return {a.m ^ b.m};
}
template <int N>
LITZ_INLINE LaneMask<N> lt(LaneMask<N> a, LaneMask<N> b) {
  return {~a.m & b.m};
}
template <int N>
LITZ_INLINE LaneMask<N> le(LaneMask<N> a, LaneMask<N> b) {
  return {~a.m | b.m};
}
template <int N>
LITZ_INLINE LaneMask<N> gt(LaneMask<N> a, LaneMask<N> b) {
  return {a.m & ~b.m};
}
template <int N>
LITZ_INLINE LaneMask<N> ge(LaneMask<N> a, LaneMask<N> b) {
  return {a.m | ~b.m};
}

// ---- logic on masks and bits on integers ----
LITZ_INLINE bool logical_and(bool a, bool b) { return a & b; }
LITZ_INLINE bool logical_or(bool a, bool b) { return a | b; }
LITZ_INLINE bool logical_xor(bool a, bool b) { return a != b; }
LITZ_INLINE bool logical_not(bool a) { return !a; }
template <int N>
LITZ_INLINE LaneMask<N> logical_and(LaneMask<N> a, LaneMask<N> b) {
  return {a.m & b.m};
}
template <int N>
LITZ_INLINE LaneMask<N> logical_or(LaneMask<N> a, LaneMask<N> b) {
  return {a.m | b.m};
}
template <int N>
LITZ_INLINE LaneMask<N> logical_xor(LaneMask<N> a, LaneMask<N> b) {
  return {a.m ^ b.m};
}
template <int N>
LITZ_INLINE LaneMask<N> logical_not(LaneMask<N> a) {
  return {~a.m};
}
// bool arithmetic of eager: add is or, mul is and, minimum is and, maximum is or
template <int N>
LITZ_INLINE LaneMask<N> add(LaneMask<N> a, LaneMask<N> b) {
  return {a.m | b.m};
}
template <int N>
LITZ_INLINE LaneMask<N> mul(LaneMask<N> a, LaneMask<N> b) {
  return {a.m & b.m};
}
template <int N>
LITZ_INLINE LaneMask<N> minimum(LaneMask<N> a, LaneMask<N> b) {
  return {a.m & b.m};
}
template <int N>
LITZ_INLINE LaneMask<N> maximum(LaneMask<N> a, LaneMask<N> b) {
  return {a.m | b.m};
}
LITZ_INLINE bool add(bool a, bool b) { return a | b; }
LITZ_INLINE bool mul(bool a, bool b) { return a & b; }
LITZ_INLINE bool minimum(bool a, bool b) { return a & b; }
LITZ_INLINE bool maximum(bool a, bool b) { return a | b; }

template <class V>
LITZ_INLINE V bitwise_and(V a, V b) {
  if constexpr (same<Element<V>, bool>) return logical_and(a, b);
  else return (V)(a & b);
}
template <class V>
LITZ_INLINE V bitwise_or(V a, V b) {
  if constexpr (same<Element<V>, bool>) return logical_or(a, b);
  else return (V)(a | b);
}
template <class V>
LITZ_INLINE V bitwise_xor(V a, V b) {
  if constexpr (same<Element<V>, bool>) return logical_xor(a, b);
  else return (V)(a ^ b);
}
template <class V>
LITZ_INLINE V bitwise_not(V a) {
  if constexpr (same<Element<V>, bool>) return logical_not(a);
  else return (V)~a;
}
/// Shifts by a count outside [0, bits): left gives 0, right gives 0 or, of a negative value, -1.
template <class V>
LITZ_INLINE V shift_left(V a, V n) {
  constexpr int bits = 8 * sizeof(Element<V>);
  UBits<V> u = as<Element<UBits<V>>>(a), count = as<Element<UBits<V>>>(n);
  auto ok = count < (UBits<V>)bits;
  return as<Element<V>>(where(as_mask(ok), (UBits<V>)(u << where(as_mask(ok), count, (UBits<V>)0)), (UBits<V>)0));
}
template <class V>
LITZ_INLINE V shift_right(V a, V n) {
  constexpr int bits = 8 * sizeof(Element<V>);
  UBits<V> count = as<Element<UBits<V>>>(n);
  auto ok = as_mask(count < (UBits<V>)bits);
  if constexpr (is_signed<Element<V>>) return (V)(a >> as<Element<V>>(where(ok, count, (UBits<V>)(bits - 1))));
  else return where(ok, (V)(a >> where(ok, count, (UBits<V>)0)), (V)0);
}

// ---- selection ----
/// NaN if either is NaN. Of equal zeros the second, as eager's scalar code has it only by chance: do not rely on it.
template <class V>
LITZ_INLINE V minimum(V a, V b) {
  if constexpr (is_float<Element<V>>) {
    V r = a < b ? a : b;  // b if unordered
    return a != a ? a : r;
  } else return where(as_mask(a < b), a, b);
}
template <class V>
LITZ_INLINE V maximum(V a, V b) {
  if constexpr (is_float<Element<V>>) {
    V r = a > b ? a : b;
    return a != a ? a : r;
  } else return where(as_mask(a > b), a, b);
}
/// The other operand if one is NaN.
template <class V>
LITZ_INLINE V fmin(V a, V b) {
  if constexpr (is_float<Element<V>>) {
    V r = a < b ? a : b;  // b if unordered
    return b != b ? a : r;
  } else return minimum(a, b);
}
template <class V>
LITZ_INLINE V fmax(V a, V b) {
  if constexpr (is_float<Element<V>>) {
    V r = a > b ? a : b;
    return b != b ? a : r;
  } else return maximum(a, b);
}
/// min(max(v, low), high); NaN stays NaN.
template <class V>
LITZ_INLINE V clamp(V v, V low, V high) {
  return minimum(maximum(v, low), high);
}
/// 0 below 0; NaN and -0 stay, as in eager.
template <class V>
LITZ_INLINE V relu(V v) {
  return where(as_mask(v < (V)0), (V)0, v);
}

// ---- classification ----
template <class V>
LITZ_INLINE Mask<lanes<V>> isnan(V v) {
  return as_mask(v != v);
}
template <class V>
LITZ_INLINE Mask<lanes<V>> isinf(V v) {
  if constexpr (is_float<Element<V>>) return as_mask(abs(v) == (V)(Element<V>)__builtin_inff());
  else return as_mask(v != v);
}
template <class V>
LITZ_INLINE Mask<lanes<V>> isfinite(V v) {
  if constexpr (is_float<Element<V>>) return as_mask(abs(v) < (V)(Element<V>)__builtin_inff());
  else return as_mask(v == v);
}
template <class V>
LITZ_INLINE Mask<lanes<V>> signbit(V v) {
  if constexpr (is_float<Element<V>>) return as_mask(as<Element<Bits<V>>>(v) < (Bits<V>)0);
  else return as_mask(v < (V)0);
}
/// -1, 0 or 1; 0 for NaN, as eager.
template <class V>
LITZ_INLINE V sign(V v) {
  V one = (V)1, zero = (V)0;
  if constexpr (is_signed<Element<V>>) return where(as_mask(v > zero), one, where(as_mask(v < zero), neg(one), zero));
  else return where(as_mask(v > zero), one, zero);
}

// ---- rounding to integers in floating point ----
#if defined(__SSE2__) && !defined(__SSE4_1__)
#define LITZ_NATIVE_ROUND 0
#else
#define LITZ_NATIVE_ROUND 1
#endif
/// To nearest, halves to even.
template <class V>
LITZ_INLINE V round(V v) {
  if constexpr (LITZ_NATIVE_ROUND) return __builtin_elementwise_roundeven(v);
  else {
    constexpr Element<V> big = same<Element<V>, float> ? (Element<V>)0x1p23 : (Element<V>)0x1p52;
    V a = abs(v), r = (a + big) - big;
    return copysign(where(as_mask(a < (V)big), r, a), v);
  }
}
template <class V>
LITZ_INLINE V floor(V v) {
  if constexpr (!is_float<Element<V>>) return v;
  else if constexpr (LITZ_NATIVE_ROUND) return __builtin_elementwise_floor(v);
  else {
    V r = round(v);
    return copysign(where(as_mask(r > v), r - (V)1, r), v);
  }
}
template <class V>
LITZ_INLINE V ceil(V v) {
  if constexpr (!is_float<Element<V>>) return v;
  else if constexpr (LITZ_NATIVE_ROUND) return __builtin_elementwise_ceil(v);
  else {
    V r = round(v);
    return copysign(where(as_mask(r < v), r + (V)1, r), v);
  }
}
template <class V>
LITZ_INLINE V trunc(V v) {
  if constexpr (!is_float<Element<V>>) return v;
  else if constexpr (LITZ_NATIVE_ROUND) return __builtin_elementwise_trunc(v);
  else return copysign(floor(abs(v)), v);
}
template <class V>
LITZ_INLINE V frac(V v) {
  return v - trunc(v);
}

// ---- roots ----
template <class V>
LITZ_INLINE V sqrt(V v) {
  return __builtin_elementwise_sqrt(v);
}
template <class V>
LITZ_INLINE V rsqrt(V v) {
  return (V)1 / __builtin_elementwise_sqrt(v);
}
template <class V>
LITZ_INLINE V reciprocal(V v) {
  return (V)1 / v;
}

// ---- for the functions of the other headers ----
#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)
#define LITZ_FUSED 1
#else
#define LITZ_FUSED 0
#endif
// a * b + c in a polynomial, where either rounding will do: one instruction where the machine has it.
template <class V>
LITZ_INLINE V mad(V a, V b, V c) {
#if LITZ_FUSED
  return __builtin_elementwise_fma(a, b, c);
#else
  return a * b + c;
#endif
}
/// Horner's scheme, coefficients from the highest power down; straight code, cheap to compile.
template <class V, class... C>
LITZ_INLINE V polynomial(V x, Element<V> highest, C... rest) {
  V r = (V)highest;
  ((r = mad(r, x, (V)(Element<V>)rest)), ...);
  return r;
}
// Raw comparison: the sign bit is set.
template <class V>
LITZ_INLINE auto signbit_lanes(V v) {
  return as<Element<Bits<V>>>(v) < (Bits<V>)0;
}
// The float64 functions are long and few kernels call them: their headers (float64.h has them all) are not part of
// vec.h. What calls one without its header does not link.
namespace float64 {
#define LITZ_UNARY(name) \
  template <class V>     \
  LITZ_INLINE V name(V x);
#define LITZ_BINARY(name) \
  template <class V>      \
  LITZ_INLINE V name(V x, V y);
LITZ_UNARY(exp)
LITZ_UNARY(exp2)
LITZ_UNARY(expm1)
LITZ_UNARY(sigmoid)
LITZ_UNARY(tanh)
LITZ_UNARY(sinh)
LITZ_UNARY(cosh)
LITZ_UNARY(log)
LITZ_UNARY(log2)
LITZ_UNARY(log10)
LITZ_UNARY(log1p)
LITZ_UNARY(asinh)
LITZ_UNARY(acosh)
LITZ_UNARY(atanh)
LITZ_UNARY(sin)
LITZ_UNARY(cos)
LITZ_UNARY(tan)
LITZ_UNARY(asin)
LITZ_UNARY(acos)
LITZ_UNARY(atan)
LITZ_UNARY(erf)
LITZ_UNARY(erfc)
LITZ_BINARY(pow)
LITZ_BINARY(atan2)
#undef LITZ_UNARY
#undef LITZ_BINARY
}  // namespace float64
// In a function: float64 takes one of them; `else` follows.
#define LITZ_FLOAT64(call) \
  if constexpr (same<Element<V>, double>) return float64::call

}  // namespace litz
