#pragma once
// Division of 64-bit integers as Python and our expressions have it: towards minus infinity, the remainder takes the
// divisor's sign. The divisor is not 0. The one quotient that does not fit (the least integer by -1) saturates.
#include <cstdint>
#include <limits>

namespace litz {

constexpr int64_t floor_div_int(int64_t a, int64_t b) {
  if (b == -1) return a == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -a;
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

constexpr int64_t mod_int(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace litz
