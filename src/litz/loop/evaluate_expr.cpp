#include "litz/loop/reference_interpreter.h"
#include "litz/symbolic/evaluate.h"

namespace litz {
namespace {

std::optional<WideInt> value_of(Expr expr, const std::unordered_map<Expr, int64_t>& values) {
  if (!expr.is_symbol()) return evaluate_node<WideInt>(expr, [&](Expr operand) { return value_of(operand, values); });
  auto known = values.find(expr);
  LITZ_CHECK(known != values.end(), "symbol {} has no value", expr.symbol_name());
  return known->second;
}

}  // namespace

int64_t evaluate(Expr expr, const std::unordered_map<Expr, int64_t>& values) {
  const std::optional<int64_t> value = narrowed(value_of(expr, values));
  LITZ_CHECK(value, "index expression {} leaves 64 bits or divides by zero", to_string(expr));
  return *value;
}

}  // namespace litz
