// What a kernel makes of an expression: numbers that the call computed exactly, and words that wrap for the rest. It is the value wherever
// all that the program wrote down fits, in all iterations of its loops, or the call refuses.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>

#include "litz/kernel/tree_passes.h"
#include "litz/symbolic/evaluate.h"
#include "random_expr.h"

namespace litz::testing_support {
namespace {

// Before RapidCheck reads it; a user's own setting wins.
const int configured = setenv("RC_PARAMS", "max_success=3000 max_size=40", 0);

/// Nullopt where a divisor is zero or a number that the call computes does not fit, which it refuses.
std::optional<int64_t> in_kernel(Expr e, const std::vector<Expr>& numbers, const Universe::Point& point) {
  if (e.is_integer()) return e.integer();
  if (e.is_symbol()) return point(e);
  if (std::ranges::find(numbers, e) != numbers.end()) return evaluate(e, point);
  auto operand = [&](Expr part) { return in_kernel(part, numbers, point); };
  const bool wraps = e.kind() == ExprKind::kAdd || e.kind() == ExprKind::kMul;
  if (!wraps) return evaluate_node<int64_t>(e, operand);
  uint64_t result = e.kind() == ExprKind::kMul;
  for (Expr part : e.operands()) {
    const std::optional<int64_t> value = operand(part);
    if (!value) return std::nullopt;
    result = e.kind() == ExprKind::kMul ? result * static_cast<uint64_t>(*value) : result + static_cast<uint64_t>(*value);
  }
  return static_cast<int64_t>(result);
}

TEST(ComputedNumbers, KernelsComputeTheValueOfLargeSizes) {
  ASSERT_EQ(configured, 0);
  EXPECT_TRUE(rc::check("words that wrap and computed numbers give the value", [] {
    Universe universe;
    const auto program = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100 * 1000));
    const RandomExpr random_expr(universe, program, *rc::gen::element(Style::kAny, Style::kIndex));
    const std::vector<Expr> numbers = computed_numbers(random_expr.expr);
    std::mt19937 random(5);
    for (int i = 0; i < 40; ++i) {
      const Universe::Point point = universe.random_point(random, int64_t{1} << (i % 4 * 10 + 10));
      const std::optional<int64_t> wanted = random_expr.reference(point);
      bool fits_everywhere = wanted.has_value();
      for (int k = 0; k < 16 && fits_everywhere; ++k)
        fits_everywhere = random_expr.reference(universe.elsewhere_in_loops(point, random)).has_value();
      if (!fits_everywhere) continue;
      const std::optional<int64_t> got = in_kernel(random_expr.expr, numbers, point);
      if (got && got != wanted) {
        std::string values;
        for (Expr symbol : universe.symbols) values += std::string(symbol.symbol_name()) + "=" + std::to_string(*point(symbol)) + " ";
        RC_LOG() << random_expr.text() << "\nbecame " << to_string(random_expr.expr) << "\n" << values;
      }
      RC_ASSERT(!got || got == wanted);
    }
  }));
}

}  // namespace
}  // namespace litz::testing_support
