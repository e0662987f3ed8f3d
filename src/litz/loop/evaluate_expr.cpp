#include "litz/loop/reference_interpreter.h"

namespace litz {

int64_t evaluate(Expr expr, const std::unordered_map<Expr, int64_t>& values) {
  if (expr.is_integer()) return expr.integer();
  if (expr.is_symbol()) {
    auto it = values.find(expr);
    LITZ_CHECK(it != values.end(), "symbol {} has no value", expr.symbol_name());
    return it->second;
  }
  auto operands = expr.operands();
  auto at = [&](size_t k) { return evaluate(operands[k], values); };
  auto floor_quotient = [](int64_t a, int64_t b) {
    LITZ_CHECK(b != 0, "division by zero in an index expression");
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
  };
  int64_t result = 0;
  switch (expr.kind()) {
    case ExprKind::kAdd:
      for (Expr e : operands) result += evaluate(e, values);
      return result;
    case ExprKind::kMul:
      result = 1;
      for (Expr e : operands) result *= evaluate(e, values);
      return result;
    case ExprKind::kFloorDiv: return floor_quotient(at(0), at(1));
    case ExprKind::kMod: return at(0) - floor_quotient(at(0), at(1)) * at(1);
    case ExprKind::kMin:
      result = at(0);
      for (size_t k = 1; k < operands.size(); ++k) result = std::min(result, at(k));
      return result;
    case ExprKind::kMax:
      result = at(0);
      for (size_t k = 1; k < operands.size(); ++k) result = std::max(result, at(k));
      return result;
    case ExprKind::kEq: return at(0) == at(1);
    case ExprKind::kNe: return at(0) != at(1);
    case ExprKind::kLt: return at(0) < at(1);
    case ExprKind::kLe: return at(0) <= at(1);
    case ExprKind::kAnd:
      for (Expr e : operands)
        if (!evaluate(e, values)) return 0;
      return 1;
    case ExprKind::kOr:
      for (Expr e : operands)
        if (evaluate(e, values)) return 1;
      return 0;
    case ExprKind::kNot: return !at(0);
    case ExprKind::kSelect: return at(0) ? at(1) : at(2);
    case ExprKind::kInteger:
    case ExprKind::kSymbol: break;
  }
  return 0;
}

}  // namespace litz
