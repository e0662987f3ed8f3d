#pragma once
// Division of integers as Python and our expressions have it: towards minus infinity, the remainder takes the
// divisor's sign. The divisor is not 0. The one quotient that does not fit (the least integer by -1) saturates.
#include <cstdint>
#include <limits>
#include <type_traits>

namespace litz {

/// What numbers that follow from sizes are computed in where 64 bits do not hold a step of the way. Values are kept within half of the
/// bits (is_wide_enough), so that no sum or product of two overflows.
using WideInt = _BitInt(1024);
constexpr bool is_wide_enough(const WideInt& value) {
  constexpr WideInt kLimit = WideInt(1) << 510;
  return -kLimit < value && value < kLimit;
}
constexpr bool fits_int64(const WideInt& value) {
  return value >= std::numeric_limits<int64_t>::min() && value <= std::numeric_limits<int64_t>::max();
}

/// False where the result does not fit; it has wrapped then.
template <typename Int>
constexpr bool add_int(Int a, Int b, Int& result) {
  if constexpr (std::is_same_v<Int, int64_t>) return !__builtin_add_overflow(a, b, &result);
  result = a + b;
  return is_wide_enough(result);
}
template <typename Int>
constexpr bool mul_int(Int a, Int b, Int& result) {
  if constexpr (std::is_same_v<Int, int64_t>) return !__builtin_mul_overflow(a, b, &result);
  result = a * b;
  return is_wide_enough(result);
}

template <typename Int>
constexpr Int floor_div_int(Int a, Int b) {
  if constexpr (std::is_same_v<Int, int64_t>)
    if (b == -1) return a == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -a;
  Int quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

template <typename Int>
constexpr Int mod_int(Int a, Int b) {
  if (b == -1) return 0;
  Int remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace litz
