#include "litz/symbolic/expr_range.h"

#include <algorithm>

namespace litz {
namespace {

bool is_infinite(int64_t value) { return value >= kIntInf || value <= -kIntInf; }

int64_t add_bound(int64_t a, int64_t b, int64_t unbounded) {
  if (a == unbounded || b == unbounded) return unbounded;
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return a > 0 ? kIntInf : -kIntInf;
  return std::clamp(sum, -kIntInf, kIntInf);
}

int64_t mul_corner(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t product;
  if (is_infinite(a) || is_infinite(b) || __builtin_mul_overflow(a, b, &product)) return (a < 0) == (b < 0) ? kIntInf : -kIntInf;
  return std::clamp(product, -kIntInf, kIntInf);
}

int64_t div_corner(int64_t a, int64_t b) {
  if (is_infinite(b)) return a == 0 || (a < 0) == (b < 0) ? 0 : -1;
  if (is_infinite(a)) return (a < 0) == (b < 0) ? kIntInf : -kIntInf;
  return floor_div_int(a, b);
}

template <typename Corner>
ValueRange over_corners(ValueRange a, ValueRange b, Corner corner) {
  auto [lower, upper] =
      std::minmax({corner(a.lower, b.lower), corner(a.lower, b.upper), corner(a.upper, b.lower), corner(a.upper, b.upper)});
  return {lower, upper};
}

}  // namespace

ValueRange range_add(ValueRange a, ValueRange b) { return {add_bound(a.lower, b.lower, -kIntInf), add_bound(a.upper, b.upper, kIntInf)}; }

ValueRange range_mul(ValueRange a, ValueRange b) { return over_corners(a, b, mul_corner); }

ValueRange range_floor_div(ValueRange a, ValueRange b) {
  // The divisor is not zero, so a range that touches zero ends beside it.
  if (b.lower == 0) b.lower = 1;
  if (b.upper == 0) b.upper = -1;
  if (b.lower > 0 || b.upper < 0) return over_corners(a, b, div_corner);
  int64_t magnitude = std::max(a.lower == -kIntInf ? kIntInf : std::abs(a.lower), a.upper == kIntInf ? kIntInf : std::abs(a.upper));
  return {-magnitude, magnitude};
}

ValueRange range_mod(ValueRange a, ValueRange b) {
  ValueRange result;
  result.lower = b.lower >= 0 ? 0 : (b.lower == -kIntInf ? -kIntInf : b.lower + 1);
  result.upper = b.upper <= 0 ? 0 : (b.upper == kIntInf ? kIntInf : b.upper - 1);
  if (b.lower >= 0 && a.lower >= 0) result.upper = std::min(result.upper, a.upper);
  return result;
}

ValueRange range_min(ValueRange a, ValueRange b) { return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)}; }
ValueRange range_max(ValueRange a, ValueRange b) { return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)}; }
ValueRange range_union(ValueRange a, ValueRange b) { return {std::min(a.lower, b.lower), std::max(a.upper, b.upper)}; }

}  // namespace litz
