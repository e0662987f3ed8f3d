#pragma once
// Encoding and rounding of the floating types as bits, round to nearest even.
#include <cstdint>

#include "litz/support/dtype.h"

namespace litz {

/// The value rounded to the type, as its bits. Narrow types are rounded from float32, as eager does.
uint64_t encode_float(DType dtype, double value);
double decode_float(DType dtype, uint64_t bits);
inline double round_float(DType dtype, double value) { return decode_float(dtype, encode_float(dtype, value)); }

/// Largest finite value, and whether the type has infinities.
double largest_finite(DType dtype);
bool has_infinity(DType dtype);

}  // namespace litz
