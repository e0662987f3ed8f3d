// Comparisons, their connectives and select. A comparison is a statement about one difference, divided by its content:
// its positive terms stand on one side and its negative ones on the other, so equal statements are one node.
#include <algorithm>
#include <numeric>

#include "litz/symbolic/expr_range.h"
#include "litz/symbolic/polynomial.h"
#include "litz/symbolic/prove.h"

namespace litz {
namespace {

// difference = content * (positive - negative) + constant, with terms of positive coefficients.
struct Sides {
  Expr positive, negative;
  int64_t content;
  int64_t constant;
};
Sides split_sides(Expr difference) {
  ExprContext::Impl& impl = impl_of(difference);
  Polynomial parts(impl);
  parts.add(difference);
  int64_t content = 0;
  for (const Term& term : parts.terms) content = std::gcd(content, term.coefficient);
  if (content == 0) content = 1;
  Polynomial positive(impl), negative(impl);
  for (const Term& term : parts.terms) {
    if (term.coefficient > 0) positive.add_term(term.coefficient / content, term.core);
    else negative.add_term(checked_mul(term.coefficient / content, -1), term.core);
  }
  return {positive.to_expr(), negative.to_expr(), content, parts.constant};
}

Expr intern_pair(ExprKind kind, Expr a, Expr b) {
  Expr operands[] = {a, b};
  return impl_of(a).intern(kind, operands);
}

// difference >= 0
Expr make_nonnegative(Expr difference) {
  ExprContext::Impl& impl = impl_of(difference);
  if (prove_nonnegative(difference)) return impl.integer(1);
  if (prove_less(difference, impl.integer(0))) return impl.integer(0);
  Sides sides = split_sides(difference);
  // negative <= positive + constant
  int64_t constant = floor_div_int(sides.constant, sides.content);
  if (sides.negative.is_integer(0)) return intern_pair(ExprKind::kLe, impl.integer(checked_mul(constant, -1)), sides.positive);
  // The constant stands on the right, as in a loop's condition.
  if (sides.positive.is_integer(0) || constant < 0)
    return intern_pair(ExprKind::kLt, sides.negative, sides.positive + checked_add(constant, 1));
  return intern_pair(ExprKind::kLe, sides.negative, sides.positive + constant);
}

bool is_comparison(Expr e) {
  return e.kind() == ExprKind::kEq || e.kind() == ExprKind::kNe || e.kind() == ExprKind::kLt || e.kind() == ExprKind::kLe;
}

bool is_boolean(Expr e) { return has_flag(e, kFlagBoolean) || (e.range().lower >= 0 && e.range().upper <= 1); }

}  // namespace

Expr le(Expr a, Expr b) {
  check_same_context(a, b);
  ExprContext::Impl& impl = impl_of(a);
  if (a == b || b.is_integer(kIntInf) || a.range().upper <= b.range().lower) return impl.integer(1);
  if (a.range().lower > b.range().upper) return impl.integer(0);
  ExprContext::Impl::Memo& memo = impl.memo(ExprOp::kLe, a, b);
  if (impl.memo_hit(memo, ExprOp::kLe, a, b)) return Expr(memo.result);
  uint64_t cuts = impl.proof_cuts;
  Expr result = make_nonnegative(b - a);
  if (impl.proof_cuts == cuts) impl.memo_fill(memo, ExprOp::kLe, a, b, result);
  return result;
}

Expr lt(Expr a, Expr b) { return b.is_integer(kIntInf) ? le(a, b - 1) : le(a + 1, b); }

Expr eq(Expr a, Expr b) {
  check_same_context(a, b);
  ExprContext::Impl& impl = impl_of(a);
  if (a == b) return impl.integer(1);
  if (a.range().upper < b.range().lower || b.range().upper < a.range().lower) return impl.integer(0);
  ExprContext::Impl::Memo& memo = impl.memo(ExprOp::kEq, a, b);
  if (impl.memo_hit(memo, ExprOp::kEq, a, b)) return Expr(memo.result);
  uint64_t cuts = impl.proof_cuts;
  Expr difference = a - b;
  Expr result;
  if (difference.is_integer()) {
    result = impl.integer(difference.is_integer(0));
  } else if (prove_positive(difference) || prove_less(difference, impl.integer(0))) {
    result = impl.integer(0);
  } else if (Sides sides = split_sides(difference); sides.constant % sides.content != 0) {
    result = impl.integer(0);
  } else {
    int64_t constant = sides.constant / sides.content;
    Expr left = sides.positive, right = sides.negative;
    // The constant stands on the right; the side with the leading term on the left.
    Expr leading = difference.kind() == ExprKind::kAdd ? difference.operands()[0] : difference;
    if (term_of(leading).coefficient < 0) {
      std::swap(left, right);
      constant = checked_mul(constant, -1);
    }
    result = intern_pair(ExprKind::kEq, left, right - constant);
  }
  if (impl.proof_cuts == cuts) impl.memo_fill(memo, ExprOp::kEq, a, b, result);
  return result;
}

Expr ne(Expr a, Expr b) { return logical_not(eq(a, b)); }

Expr logical_not(Expr a) {
  ExprContext::Impl& impl = impl_of(a);
  std::span<const Expr> operands = a.operands();
  switch (a.kind()) {
    case ExprKind::kInteger: return impl.integer(a.is_integer(0));
    case ExprKind::kEq: return intern_pair(ExprKind::kNe, operands[0], operands[1]);
    case ExprKind::kNe: return intern_pair(ExprKind::kEq, operands[0], operands[1]);
    case ExprKind::kLt: return le(operands[1], operands[0]);
    case ExprKind::kLe: return lt(operands[1], operands[0]);
    case ExprKind::kNot: return operands[0];
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      Expr result = logical_not(operands[0]);
      for (Expr operand : operands.subspan(1)) {
        Expr negated = logical_not(operand);
        result = a.kind() == ExprKind::kAnd ? logical_or(result, negated) : logical_and(result, negated);
      }
      return result;
    }
    default: {
      LITZ_CHECK(is_boolean(a), "{} is not a condition", to_string(a));
      Expr operand[] = {a};
      return impl.intern(ExprKind::kNot, operand);
    }
  }
}

namespace {

// `absorbing` decides the connective, the other constant is dropped.
Expr connective(Expr a, Expr b, ExprKind kind, int64_t absorbing) {
  check_same_context(a, b);
  ExprContext::Impl& impl = impl_of(a);
  LITZ_CHECK(is_boolean(a) && is_boolean(b), "{} or {} is not a condition", to_string(a), to_string(b));
  for (auto [one, other] : {std::pair{a, b}, std::pair{b, a}})
    if (one.is_integer()) return one.integer() == absorbing ? one : other;
  InlineVector<Expr, 8> operands;
  for (Expr side : {a, b}) {
    if (side.kind() == kind) operands.append(side.operands());
    else operands.push_back(side);
  }
  std::sort(operands.begin(), operands.end(), [](Expr x, Expr y) { return compare_exprs(x, y) < 0; });
  size_t count = std::unique(operands.begin(), operands.end()) - operands.begin();
  operands.resize_down(count);
  for (Expr operand : operands) {
    if (!is_comparison(operand) && operand.kind() != ExprKind::kNot) continue;
    Expr opposite = logical_not(operand);
    if (std::find(operands.begin(), operands.end(), opposite) != operands.end()) return impl.integer(absorbing);
  }
  return count == 1 ? operands[0] : impl.intern(kind, operands);
}

}  // namespace

Expr logical_and(Expr a, Expr b) { return connective(a, b, ExprKind::kAnd, 0); }
Expr logical_or(Expr a, Expr b) { return connective(a, b, ExprKind::kOr, 1); }

Expr select(Expr condition, Expr if_true, Expr if_false) {
  check_same_context(condition, if_true);
  check_same_context(if_true, if_false);
  ExprContext::Impl& impl = impl_of(condition);
  if (condition.is_integer()) return condition.is_integer(0) ? if_false : if_true;
  LITZ_CHECK(is_boolean(condition), "{} is not a condition", to_string(condition));
  if (if_true == if_false) return if_true;
  if (if_true.is_integer(1) && if_false.is_integer(0)) return condition;
  if (if_true.is_integer(0) && if_false.is_integer(1)) return logical_not(condition);
  if (condition.kind() == ExprKind::kNe || condition.kind() == ExprKind::kNot) return select(logical_not(condition), if_false, if_true);
  // A branch that asks the same again knows the answer.
  if (if_true.kind() == ExprKind::kSelect && if_true.operands()[0] == condition) return select(condition, if_true.operands()[1], if_false);
  if (if_false.kind() == ExprKind::kSelect && if_false.operands()[0] == condition)
    return select(condition, if_true, if_false.operands()[2]);
  if (condition.kind() == ExprKind::kLt || condition.kind() == ExprKind::kLe) {
    if (condition == lt(if_true, if_false) || condition == le(if_true, if_false)) return min(if_true, if_false);
    if (condition == lt(if_false, if_true) || condition == le(if_false, if_true)) return max(if_true, if_false);
  }
  Expr operands[] = {condition, if_true, if_false};
  return impl.intern(ExprKind::kSelect, operands);
}

}  // namespace litz
