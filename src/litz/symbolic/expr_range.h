#pragma once
// Interval arithmetic over 64-bit integers; an overflow saturates to "unbounded".
#include "litz/support/integer_math.h"
#include "litz/symbolic/expr.h"

namespace litz {

ValueRange range_add(ValueRange a, ValueRange b);
ValueRange range_mul(ValueRange a, ValueRange b);
ValueRange range_floor_div(ValueRange a, ValueRange b);
ValueRange range_mod(ValueRange a, ValueRange b);
ValueRange range_min(ValueRange a, ValueRange b);
ValueRange range_max(ValueRange a, ValueRange b);
ValueRange range_union(ValueRange a, ValueRange b);

}  // namespace litz
