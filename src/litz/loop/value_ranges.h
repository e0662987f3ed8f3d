#pragma once
// The closed interval in which each value of a body lies, from the bounds of constants, axes and types. Floats: bounds of the numbers
// it can be; is_nan_free says that it can't be NaN. Used to narrow integers, to drop bounds checks and to prove predicates.
#include <vector>

#include "litz/loop/body.h"

namespace litz {

struct ValueBounds {
  double lower;  // -inf, inf: not bounded
  double upper;
  bool is_nan_free;
  bool is_single() const { return lower == upper && is_nan_free; }
};

/// One for each instruction. Exact only up to double: bounds of integers beyond 2^53 are rounded outwards.
std::vector<ValueBounds> value_ranges(const Body& body);

}  // namespace litz
