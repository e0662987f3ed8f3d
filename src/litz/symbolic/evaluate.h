#pragma once
// The value of an expression whose symbols have values: the one place that says what each kind of node computes on numbers, of 64 bits or
// wider.
#include <algorithm>

#include "litz/support/integer_math.h"
#include "litz/symbolic/expr.h"

namespace litz {

/// a becomes "a kind b", of a kind with two or more operands; false where the bits of Int are left or a divisor is 0.
template <typename Int>
constexpr bool combine_integers(ExprKind kind, Int& a, Int b) {
  switch (kind) {
    case ExprKind::kAdd: return add_int(a, b, a);
    case ExprKind::kMul: return mul_int(a, b, a);
    case ExprKind::kFloorDiv:
    case ExprKind::kMod:
      if (b == 0) return false;
      a = kind == ExprKind::kMod ? mod_int(a, b) : floor_div_int(a, b);
      return true;
    case ExprKind::kMin: return a = std::min(a, b), true;
    case ExprKind::kMax: return a = std::max(a, b), true;
    case ExprKind::kEq: return a = a == b, true;
    case ExprKind::kNe: return a = a != b, true;
    case ExprKind::kLt: return a = a < b, true;
    case ExprKind::kLe: return a = a <= b, true;
    case ExprKind::kAnd: return a = a && b, true;
    case ExprKind::kOr: return a = a || b, true;
    case ExprKind::kInteger:
    case ExprKind::kSymbol:
    case ExprKind::kNot:
    case ExprKind::kSelect: break;
  }
  return false;
}

/// The value of a node that is no symbol; `value_of` gives that of an operand, or nullopt. Only the side of a select that is taken
/// needs one, and of a conjunction or disjunction the operands up to the one that decides it.
template <typename Int, typename ValueOf>
std::optional<Int> evaluate_node(Expr e, ValueOf&& value_of) {
  if (e.is_integer()) return e.integer();
  const std::span<const Expr> operands = e.operands();
  std::optional<Int> result = value_of(operands[0]);
  if (!result) return std::nullopt;
  if (e.kind() == ExprKind::kSelect) return value_of(operands[*result ? 1 : 2]);
  if (e.kind() == ExprKind::kNot) return !*result;
  for (Expr operand : operands.subspan(1)) {
    const bool is_decided = e.kind() == ExprKind::kAnd ? !*result : e.kind() == ExprKind::kOr && *result;
    if (is_decided) return *result != 0;
    const std::optional<Int> value = value_of(operand);
    if (!value || !combine_integers(e.kind(), *result, *value)) return std::nullopt;
  }
  return result;
}

/// Nullopt where 64 bits do not hold it.
inline std::optional<int64_t> narrowed(const std::optional<WideInt>& value) {
  return value && fits_int64(*value) ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
}

}  // namespace litz
