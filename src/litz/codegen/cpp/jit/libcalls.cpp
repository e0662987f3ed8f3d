#include "litz/codegen/cpp/jit/libcalls.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

// The conversions that LLVM calls on processors without instructions for them. Their ABI passes the small types in
// vector registers, which the compiler's own types _Float16 and __bf16 give; rounding is to nearest even.
extern "C" {

static std::uint16_t half_bits(double value) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint16_t sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000);
  const std::uint64_t magnitude = bits & 0x7fffffffffffffff;
  if (magnitude > 0x7ff0000000000000) return sign | 0x7e00 | static_cast<std::uint16_t>(bits >> 42 & 0x1ff);
  const double absolute = std::bit_cast<double>(magnitude);
  if (absolute >= 65520.0) return sign | 0x7c00;
  if (absolute < 0x1p-14) {
    // Adding 2^28 leaves exactly the multiples of 2^-24, the subnormals' spacing, rounded to nearest even.
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint64_t>(absolute + 0x1p28) & 0xffff);
  }
  // Round to 10 bits of fraction: add half a unit less one, plus the last kept bit.
  const std::uint64_t rounded = magnitude + 0x1ffffffffff + (magnitude >> 42 & 1);
  return sign | static_cast<std::uint16_t>((rounded >> 42) - (std::uint64_t{1023 - 15} << 10));
}

static std::uint16_t bfloat_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// A double rounded to odd float first, so that the second rounding is not a double rounding.
static float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value || std::isinf(value)) return nearest;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  const bool away = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  return std::bit_cast<float>((away ? bits - 1 : bits) | 1);
}

static float litz_extendhfsf2(_Float16 value) {
  const std::uint16_t bits = std::bit_cast<std::uint16_t>(value);
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13 | (fraction ? 0x400000 : 0));
  if (exponent == 0) return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f) | sign);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

static _Float16 litz_truncsfhf2(float value) { return std::bit_cast<_Float16>(half_bits(value)); }
static _Float16 litz_truncdfhf2(double value) { return std::bit_cast<_Float16>(half_bits(value)); }
static __bf16 litz_truncsfbf2(float value) { return std::bit_cast<__bf16>(bfloat_bits(value)); }
static __bf16 litz_truncdfbf2(double value) { return std::bit_cast<__bf16>(bfloat_bits(round_to_odd(value))); }

}  // extern "C"

namespace litz {

const std::vector<std::pair<std::string, void*>>& libcalls() {
#define LITZ_CALL(name) {#name, reinterpret_cast<void*>(&::name)}
#define LITZ_MATH1(name)                                                          \
  {#name, reinterpret_cast<void*>(static_cast<double (*)(double)>(&::name))}, {   \
    #name "f", reinterpret_cast<void*>(static_cast<float (*)(float)>(&::name##f)) \
  }
#define LITZ_MATH2(name)                                                                 \
  {#name, reinterpret_cast<void*>(static_cast<double (*)(double, double)>(&::name))}, {  \
    #name "f", reinterpret_cast<void*>(static_cast<float (*)(float, float)>(&::name##f)) \
  }
  static const std::vector<std::pair<std::string, void*>> calls = {
      LITZ_CALL(memcpy),
      LITZ_CALL(memmove),
      LITZ_CALL(memset),
      LITZ_CALL(memcmp),
      {"__extendhfsf2", reinterpret_cast<void*>(&litz_extendhfsf2)},
      {"__gnu_h2f_ieee", reinterpret_cast<void*>(&litz_extendhfsf2)},
      {"__truncsfhf2", reinterpret_cast<void*>(&litz_truncsfhf2)},
      {"__truncdfhf2", reinterpret_cast<void*>(&litz_truncdfhf2)},
      {"__truncsfbf2", reinterpret_cast<void*>(&litz_truncsfbf2)},
      {"__truncdfbf2", reinterpret_cast<void*>(&litz_truncdfbf2)},
      LITZ_MATH1(acos),
      LITZ_MATH1(acosh),
      LITZ_MATH1(asin),
      LITZ_MATH1(asinh),
      LITZ_MATH1(atan),
      LITZ_MATH1(atanh),
      LITZ_MATH1(cbrt),
      LITZ_MATH1(ceil),
      LITZ_MATH1(cos),
      LITZ_MATH1(cosh),
      LITZ_MATH1(erf),
      LITZ_MATH1(erfc),
      LITZ_MATH1(exp),
      LITZ_MATH1(exp2),
      LITZ_MATH1(expm1),
      LITZ_MATH1(fabs),
      LITZ_MATH1(floor),
      LITZ_MATH1(lgamma),
      LITZ_MATH1(log),
      LITZ_MATH1(log10),
      LITZ_MATH1(log1p),
      LITZ_MATH1(log2),
      LITZ_MATH1(nearbyint),
      LITZ_MATH1(rint),
      LITZ_MATH1(round),
      LITZ_MATH1(roundeven),
      LITZ_MATH1(sin),
      LITZ_MATH1(sinh),
      LITZ_MATH1(sqrt),
      LITZ_MATH1(tan),
      LITZ_MATH1(tanh),
      LITZ_MATH1(tgamma),
      LITZ_MATH1(trunc),
      LITZ_MATH2(atan2),
      LITZ_MATH2(copysign),
      LITZ_MATH2(fmax),
      LITZ_MATH2(fmin),
      LITZ_MATH2(fmod),
      LITZ_MATH2(hypot),
      LITZ_MATH2(nextafter),
      LITZ_MATH2(pow),
      LITZ_MATH2(remainder),
      {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(&::fma))},
      {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(&::fmaf))},
      {"frexp", reinterpret_cast<void*>(static_cast<double (*)(double, int*)>(&::frexp))},
      {"frexpf", reinterpret_cast<void*>(static_cast<float (*)(float, int*)>(&::frexpf))},
      {"ldexp", reinterpret_cast<void*>(static_cast<double (*)(double, int)>(&::ldexp))},
      {"ldexpf", reinterpret_cast<void*>(static_cast<float (*)(float, int)>(&::ldexpf))}};
#undef LITZ_CALL
#undef LITZ_MATH1
#undef LITZ_MATH2
  return calls;
}

}  // namespace litz
