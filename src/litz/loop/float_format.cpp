#include "litz/loop/float_format.h"

#include <bit>
#include <cmath>
#include <limits>

#include "litz/support/check.h"

namespace litz {

namespace {

enum class Special : uint8_t { kIeee, kNanOnly, kNegativeZeroIsNan };

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Special special;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return {5, 10, 15, Special::kIeee};
    case DType::kBFloat16: return {8, 7, 127, Special::kIeee};
    case DType::kFloat8E5M2: return {5, 2, 15, Special::kIeee};
    case DType::kFloat8E4M3FN: return {4, 3, 7, Special::kNanOnly};
    case DType::kFloat8E5M2FNUZ: return {5, 2, 16, Special::kNegativeZeroIsNan};
    case DType::kFloat8E4M3FNUZ: return {4, 3, 8, Special::kNegativeZeroIsNan};
    default: LITZ_CHECK(false, "not a narrow float: {}", dtype_name(dtype)); return {};
  }
}

uint64_t sign_bit(const Format& f) { return uint64_t{1} << (f.exponent_bits + f.mantissa_bits); }

uint64_t nan_bits(const Format& f) {
  switch (f.special) {
    case Special::kIeee: return (((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits) | (uint64_t{1} << (f.mantissa_bits - 1));
    case Special::kNanOnly: return sign_bit(f) - 1;
    case Special::kNegativeZeroIsNan: return sign_bit(f);
  }
  return 0;
}

uint64_t largest_bits(const Format& f) {
  switch (f.special) {
    case Special::kIeee: return (((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits) - 1;
    case Special::kNanOnly: return sign_bit(f) - 2;
    case Special::kNegativeZeroIsNan: return sign_bit(f) - 1;
  }
  return 0;
}

uint64_t overflow_bits(const Format& f) { return f.special == Special::kIeee ? largest_bits(f) + 1 : nan_bits(f); }

uint64_t encode_narrow(DType dtype, float value) {
  Format f = format_of(dtype);
  bool negative = std::signbit(value);
  if (std::isnan(value)) return nan_bits(f);
  double magnitude = std::fabs(static_cast<double>(value));
  uint64_t bits;
  if (std::isinf(value)) {
    bits = overflow_bits(f);
  } else if (magnitude == 0) {
    bits = 0;
  } else {
    int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
    // In units of the last place: exact in double, and nearbyint rounds half to even.
    double units = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
    // Subnormals have biased exponent 0 and no implicit bit; a carry moves into the exponent by itself.
    bits = (static_cast<uint64_t>(exponent + f.bias - 1) << f.mantissa_bits) + static_cast<uint64_t>(units);
    if (bits > largest_bits(f)) bits = overflow_bits(f);
  }
  if (f.special == Special::kNegativeZeroIsNan && (bits == 0 || bits == nan_bits(f))) return bits;
  return negative ? bits | sign_bit(f) : bits;
}

double decode_narrow(DType dtype, uint64_t bits) {
  Format f = format_of(dtype);
  bool negative = bits & sign_bit(f);
  uint64_t magnitude = bits & (sign_bit(f) - 1);
  double value;
  if (f.special == Special::kNegativeZeroIsNan && bits == sign_bit(f)) return std::numeric_limits<double>::quiet_NaN();
  if (f.special != Special::kNegativeZeroIsNan && magnitude > largest_bits(f)) {
    if (f.special == Special::kIeee && magnitude == largest_bits(f) + 1) value = std::numeric_limits<double>::infinity();
    else return std::numeric_limits<double>::quiet_NaN();
  } else {
    int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
    double mantissa = static_cast<double>(magnitude & ((uint64_t{1} << f.mantissa_bits) - 1));
    if (exponent > 0) mantissa += static_cast<double>(uint64_t{1} << f.mantissa_bits);
    value = std::ldexp(mantissa, std::max(exponent, 1) - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

}  // namespace

uint64_t encode_float(DType dtype, double value) {
  if (dtype == DType::kFloat64) return std::bit_cast<uint64_t>(value);
  if (dtype == DType::kFloat32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  return encode_narrow(dtype, static_cast<float>(value));
}

double decode_float(DType dtype, uint64_t bits) {
  if (dtype == DType::kFloat64) return std::bit_cast<double>(bits);
  if (dtype == DType::kFloat32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return decode_narrow(dtype, bits);
}

double largest_finite(DType dtype) {
  if (dtype == DType::kFloat64) return std::numeric_limits<double>::max();
  if (dtype == DType::kFloat32) return std::numeric_limits<float>::max();
  return decode_narrow(dtype, largest_bits(format_of(dtype)));
}

bool has_infinity(DType dtype) {
  return dtype == DType::kFloat64 || dtype == DType::kFloat32 || format_of(dtype).special == Special::kIeee;
}

}  // namespace litz
