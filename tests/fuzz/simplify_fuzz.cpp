// An expression, simplified while it is built, has the value that the definitions of its operations give, at every point tried; the
// value lies within its range and its bounds; its text reads back to the same expression.
#include <random>

#include "fuzz_check.h"
#include "litz/symbolic/prove.h"
#include "random_expr.h"

namespace litz {

void fuzz_one(std::span<const uint8_t> input) {
  using namespace testing_support;
  if (input.size() < 2 || input.size() > 200) return;
  Universe universe;
  std::vector<int> steps;
  for (size_t k = 1; k + 1 < input.size(); k += 2) steps.push_back(input[k] * 256 + input[k + 1]);
  RandomExpr random_expr(universe, steps, input[0] % 2 ? Style::kAny : Style::kIndex);
  const Expr expr = random_expr.expr;
  // Only where something is wrong: the text of a shared part stands in the whole as often as it is used.
  auto check = [&](bool holds, const char* what) {
    if (!holds) fuzz_check(false, what + random_expr.text() + "\nbecame " + to_string(expr));
  };
  check(parse_expr(universe.context, to_string(expr)) == expr, "the text of an expression reads back to another: ");
  const std::optional<Expr> lower = lower_bound(expr), upper = upper_bound(expr);
  const bool is_nonnegative = provably_nonnegative(expr);
  std::mt19937 random(input[0]);
  for (int i = 0; i < 20; ++i) {
    const Universe::Point point = universe.random_point(random, i < 14 ? 20 : int64_t{1} << (i - 10) * 4);
    const std::optional<int64_t> wanted = random_expr.reference(point);
    if (!wanted) continue;
    const std::optional<int64_t> got = evaluate(expr, point);
    check(got == wanted, "another value: ");
    check(expr.range().lower <= *got && *got <= expr.range().upper, "outside of its range: ");
    check(!is_nonnegative || *got >= 0, "negative, against the proof: ");
    const std::optional<int64_t> least = lower ? evaluate(*lower, point) : std::nullopt;
    const std::optional<int64_t> most = upper ? evaluate(*upper, point) : std::nullopt;
    check(least.value_or(*got) <= *got && *got <= most.value_or(*got), "outside of its bounds: ");
  }
}

}  // namespace litz
