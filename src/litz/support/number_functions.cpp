#include "litz/support/number_functions.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

namespace litz {
namespace {

constexpr NumberFunctionInfo kFunctions[] = {
#define LITZ_NUMBER_FUNCTION(name, Enumerator, operands, result, meaning) {#name, operands, result},
#include "litz/support/number_functions.def"
#undef LITZ_NUMBER_FUNCTION
};

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

bool to_integer(double value, int64_t* result) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (value >= -kEnd && value < kEnd) return *result = static_cast<int64_t>(value), true;
  *result = std::isnan(value) ? 0 : value < 0 ? kLeast : kMost;
  return false;
}

int bit_width(uint64_t value) { return 64 - (value ? __builtin_clzll(value) : 64); }

/// The quotient rounded once: at least 56 bits of it are computed, the last of which says whether anything is left below.
double divide_integers(int64_t a, int64_t b) {
  if (b == 0) return static_cast<double>(a) / 0.0;
  const auto magnitude = [](int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); };
  const uint64_t dividend = magnitude(a), divisor = magnitude(b);
  const int shift = std::max(0, 57 + bit_width(divisor) - bit_width(dividend));
  const unsigned __int128 scaled = static_cast<unsigned __int128>(dividend) << shift;
  const auto quotient = static_cast<uint64_t>(scaled / divisor);
  const double rounded = static_cast<double>(quotient | (scaled % divisor != 0));
  return std::ldexp((a < 0) != (b < 0) ? -rounded : rounded, -shift);
}

/// Of the exact decimal value, ties to even: as printf rounds.
double round_decimal(double value, int64_t places) {
  if (!std::isfinite(value) || value == 0 || places > 400) return value;
  char text[1200];
  std::snprintf(text, sizeof text, "%.800e", value);  // all digits, so the exponent is that of the value and not of a rounded one
  const int64_t digits = std::strtol(std::strchr(text, 'e') + 1, nullptr, 10) + places;  // behind the first
  if (digits >= 0) {
    std::snprintf(text, sizeof text, "%.*e", static_cast<int>(std::min<int64_t>(digits, 800)), value);
    return std::strtod(text, nullptr);
  }
  // Nothing or one unit of the last place that is kept: it takes more than half of it.
  double unit = 0;
  if (digits == -1) {
    const bool is_negative = text[0] == '-';
    const char* digit = text + is_negative;
    const bool is_more =
        *digit > '5' || (*digit == '5' && std::string(digit + 2, std::strchr(digit, 'e')).find_first_not_of('0') != std::string::npos);
    if (is_more) {
      std::snprintf(text, sizeof text, "1e%lld", static_cast<long long>(-places));
      unit = std::strtod(text, nullptr);
    }
  }
  return std::copysign(unit, value);
}

double modulus(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0) return (rest < 0) != (b < 0) ? rest + b : rest;
  return std::copysign(0.0, b);
}

bool power(int64_t base, int64_t exponent, int64_t* result) {
  if (exponent < 0) return *result = 0, false;
  *result = 1;
  if (base == 0 || base == 1 || base == -1) {
    if (exponent > 0) *result = base == -1 && exponent % 2 == 0 ? 1 : base;
    return true;
  }
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(*result, base, result)) return *result = base < 0 && exponent % 2 ? kLeast : kMost, false;
  return true;
}

bool shift_left(int64_t a, int64_t by, int64_t* result) {
  if (by < 0) return *result = 0, false;
  if (a == 0) return *result = 0, true;
  if (by < 63 && !__builtin_mul_overflow(a, int64_t{1} << by, result)) return true;
  if (a == -1 && by == 63) return *result = kLeast, true;
  *result = a < 0 ? kLeast : kMost;
  return false;
}

}  // namespace

const NumberFunctionInfo& info(NumberFunction function) { return kFunctions[static_cast<size_t>(function)]; }

std::optional<NumberFunction> find_number_function(std::string_view name) {
  for (size_t k = 0; k < std::size(kFunctions); ++k)
    if (kFunctions[k].name == name) return static_cast<NumberFunction>(k);
  return std::nullopt;
}

bool apply(NumberFunction function, int64_t a, int64_t b, int64_t* result) {
  const double x = float_of_word(a), y = float_of_word(b);
  const bool has_two = info(function).operands == "ff";
  // Python raises where a value is infinite or no number and the operands give no reason for it.
  auto give = [&](double value) {
    *result = word_of_float(value);
    if (std::isnan(value)) return std::isnan(x) || (has_two && std::isnan(y));
    return std::isfinite(value) || !std::isfinite(x) || (has_two && !std::isfinite(y));
  };
  auto plain = [&](double value) { return *result = word_of_float(value), true; };
  using enum NumberFunction;
  switch (function) {
    case kToFloat: return plain(static_cast<double>(a));
    case kTruncToInt: return to_integer(std::trunc(x), result);
    case kFloorToInt: return to_integer(std::floor(x), result);
    case kCeilToInt: return to_integer(std::ceil(x), result);
    case kRoundToInt: return to_integer(std::nearbyint(x), result);
    case kTruncToFloat: return *result = word_of_float(std::trunc(x) + 0.0), std::isfinite(x);
    case kRoundDecimal: return give(round_decimal(x, b));
    case kFloatAdd: return plain(x + y);
    case kFloatMul: return plain(x * y);
    case kFloatDiv: return *result = word_of_float(x / y), y != 0;
    case kIntTrueDiv: return *result = word_of_float(divide_integers(a, b)), b != 0;
    case kFloatMod: return *result = word_of_float(modulus(x, y)), y != 0;
    case kFloatPow: return give(std::pow(x, y));
    case kFloatMin: return plain(y < x ? y : x);
    case kFloatMax: return plain(y > x ? y : x);
    case kFloatAbs: return plain(std::fabs(x));
    case kFloatIf: return *result = a ? b : 0, true;
    case kFloatOr: return *result = a | b, true;
    case kFloatEq: return *result = x == y, true;
    case kFloatLt: return *result = x < y, true;
    case kFloatLe: return *result = x <= y, true;
    case kFloatIsInteger: return *result = std::isfinite(x) && std::trunc(x) == x, true;
    case kSqrt: return give(std::sqrt(x));
    case kExp: return give(std::exp(x));
    case kLog: return give(std::log(x));
    case kLog2: return give(std::log2(x));
    case kSin: return give(std::sin(x));
    case kCos: return give(std::cos(x));
    case kTan: return give(std::tan(x));
    case kSinh: return give(std::sinh(x));
    case kCosh: return give(std::cosh(x));
    case kTanh: return give(std::tanh(x));
    case kAsin: return give(std::asin(x));
    case kAcos: return give(std::acos(x));
    case kAtan: return give(std::atan(x));
    case kAsinh: return give(std::asinh(x));
    case kIntPow: return power(a, b, result);
    case kShiftLeft: return shift_left(a, b, result);
    case kShiftRight: return *result = b < 0 ? 0 : a >> std::min<int64_t>(b, 63), b >= 0;
    case kBitAnd: return *result = a & b, true;
    case kBitOr: return *result = a | b, true;
    case kBitXor: return *result = a ^ b, true;
  }
  return false;
}

}  // namespace litz
