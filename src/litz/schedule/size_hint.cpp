#include "litz/schedule/size_hint.h"

#include <algorithm>

namespace litz {
namespace {

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? (a > 0 ? kIntInf : -kIntInf) : out;
}
int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_mul_overflow(a, b, &out) ? ((a > 0) == (b > 0) ? kIntInf : -kIntInf) : out;
}
int64_t quotient(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

}  // namespace

int64_t size_hint(Expr e, int64_t fallback) {
  const auto operand = [&](size_t k) { return size_hint(e.operands()[k], fallback); };
  const auto fold = [&](auto f) {
    int64_t v = operand(0);
    for (size_t k = 1; k < e.operands().size(); ++k) v = f(v, operand(k));
    return v;
  };
  switch (e.kind()) {
    case ExprKind::kInteger: return e.integer();
    case ExprKind::kSymbol:
      if (e.hint()) return *e.hint();
      return e.extent() ? std::max<int64_t>(0, size_hint(e.extent(), fallback) - 1) : fallback;
    case ExprKind::kAdd: return fold(saturating_add);
    case ExprKind::kMul: return fold(saturating_mul);
    case ExprKind::kFloorDiv: return operand(1) == 0 ? 0 : quotient(operand(0), operand(1));
    case ExprKind::kMod: return operand(1) == 0 ? 0 : operand(0) - quotient(operand(0), operand(1)) * operand(1);
    case ExprKind::kMin: return fold([](int64_t a, int64_t b) { return std::min(a, b); });
    case ExprKind::kMax: return fold([](int64_t a, int64_t b) { return std::max(a, b); });
    case ExprKind::kEq: return operand(0) == operand(1);
    case ExprKind::kNe: return operand(0) != operand(1);
    case ExprKind::kLt: return operand(0) < operand(1);
    case ExprKind::kLe: return operand(0) <= operand(1);
    case ExprKind::kAnd: return fold([](int64_t a, int64_t b) -> int64_t { return a && b; });
    case ExprKind::kOr: return fold([](int64_t a, int64_t b) -> int64_t { return a || b; });
    case ExprKind::kNot: return !operand(0);
    case ExprKind::kSelect: return operand(0) ? operand(1) : operand(2);
  }
  return fallback;
}

}  // namespace litz
