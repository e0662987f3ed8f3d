#pragma once
// Interval arithmetic over 64-bit integers; an overflow saturates to "unbounded".
#include "litz/symbolic/expr.h"

namespace litz {

ValueRange range_add(ValueRange a, ValueRange b);
ValueRange range_mul(ValueRange a, ValueRange b);
ValueRange range_floor_div(ValueRange a, ValueRange b);
ValueRange range_mod(ValueRange a, ValueRange b);
ValueRange range_min(ValueRange a, ValueRange b);
ValueRange range_max(ValueRange a, ValueRange b);
ValueRange range_union(ValueRange a, ValueRange b);

/// Towards minus infinity, as in Python; b is not 0.
constexpr int64_t floor_div_int(int64_t a, int64_t b) {
  if (b == -1) return a == std::numeric_limits<int64_t>::min() ? kIntInf : -a;
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}
constexpr int64_t mod_int(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace litz
