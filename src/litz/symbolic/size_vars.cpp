#include "litz/symbolic/size_vars.h"

#include <algorithm>

#include "litz/support/check.h"
#include "litz/symbolic/size_hint.h"

namespace litz {
namespace {

/// condition says that the result is at least 0; null for other conditions.
Expr nonnegative_side(Expr condition) {
  if (condition.kind() == ExprKind::kLe) return condition.operands()[1] - condition.operands()[0];
  if (condition.kind() == ExprKind::kLt) return condition.operands()[1] - condition.operands()[0] - 1;
  return Expr();
}

}  // namespace

void SizeVars::replace(Expr symbol, Expr replacement) {
  LITZ_CHECK(symbol.is_symbol() && !symbol.extent(), "{} is replaced, but is no size", to_string(symbol));
  replacement = simplify(replacement);
  LITZ_CHECK(!depends_on(replacement, symbol), "{} is replaced by {}, which contains it", to_string(symbol), to_string(replacement));
  // Earlier replacements see the new one, so that one substitution is enough.
  for (auto& [from, to] : replacements_) to = substitute(to, {{symbol, replacement}});
  replacements_.push_back({symbol, replacement});
}

void SizeVars::assume(Expr condition) { learn(simplify(condition)); }

Expr SizeVars::simplify(Expr expr) const { return replacements_.empty() ? expr : substitute(expr, replacements_); }

void SizeVars::learn(Expr condition) {
  if (condition.is_integer() || !facts_.insert(condition).second) return;
  if (condition.kind() == ExprKind::kAnd)
    for (Expr operand : condition.operands()) learn(operand);
  if (condition.kind() == ExprKind::kEq) {
    Expr difference = condition.operands()[0] - condition.operands()[1];
    nonnegative_facts_.push_back(difference);
    nonnegative_facts_.push_back(-difference);
  }
  if (Expr difference = nonnegative_side(condition)) nonnegative_facts_.push_back(difference);
}

bool SizeVars::follows_from_facts(Expr condition) const {
  if (facts_.contains(condition)) return true;
  std::span<const Expr> operands = condition.operands();
  auto follows = [&](Expr operand) { return follows_from_facts(operand); };
  switch (condition.kind()) {
    case ExprKind::kAnd: return std::all_of(operands.begin(), operands.end(), follows);
    case ExprKind::kOr: return std::any_of(operands.begin(), operands.end(), follows);
    case ExprKind::kEq: return follows_from_facts(le(operands[0], operands[1])) && follows_from_facts(le(operands[1], operands[0]));
    case ExprKind::kNe: return follows_from_facts(lt(operands[0], operands[1])) || follows_from_facts(lt(operands[1], operands[0]));
    default: break;
  }
  if (condition.is_integer()) return !condition.is_integer(0);
  Expr difference = nonnegative_side(condition);
  if (!difference) return false;
  return std::any_of(nonnegative_facts_.begin(), nonnegative_facts_.end(),
                     [&](Expr fact) { return provably_nonnegative(difference - fact); });
}

SizeVars::Truth SizeVars::truth(Expr condition) const {
  condition = simplify(condition);
  if (condition.is_integer()) return condition.is_integer(0) ? Truth::kFalse : Truth::kTrue;
  if (follows_from_facts(condition)) return Truth::kTrue;
  if (follows_from_facts(logical_not(condition))) return Truth::kFalse;
  return Truth::kUnknown;
}

bool SizeVars::expect_true(Expr condition, std::string_view message) {
  Truth known = truth(condition);
  if (known != Truth::kUnknown) return known == Truth::kTrue;
  condition = simplify(condition);
  std::string text = message.empty() ? "expected " + to_string(condition) : std::string(message);
  assertions_.push_back({condition, std::move(text)});
  learn(condition);
  return true;
}

void SizeVars::check(Expr condition, std::string_view message) {
  if (expect_true(condition, message)) return;
  if (message.empty()) user_error("a size check cannot hold: {}", to_string(condition));
  user_error("a size check cannot hold: {}", message);
}

void SizeVars::check_equals(Expr left, Expr right, std::string_view message) {
  check(eq(left, right), message.empty() ? to_string(left) + " == " + to_string(right) : std::string(message));
}
void SizeVars::check_lt(Expr left, Expr right, std::string_view message) {
  check(lt(left, right), message.empty() ? to_string(left) + " < " + to_string(right) : std::string(message));
}
void SizeVars::check_leq(Expr left, Expr right, std::string_view message) {
  check(le(left, right), message.empty() ? to_string(left) + " <= " + to_string(right) : std::string(message));
}

bool SizeVars::statically_known_true(Expr condition) const { return truth(condition) == Truth::kTrue; }
bool SizeVars::statically_known_equals(Expr left, Expr right) const { return left == right || statically_known_true(eq(left, right)); }
bool SizeVars::statically_known_lt(Expr left, Expr right) const { return statically_known_true(lt(left, right)); }
bool SizeVars::statically_known_leq(Expr left, Expr right) const { return statically_known_true(le(left, right)); }
bool SizeVars::statically_known_multiple_of(Expr numerator, Expr denominator) const {
  numerator = simplify(numerator), denominator = simplify(denominator);
  if (denominator.is_integer(0)) return false;
  return statically_known_true(eq(mod(numerator, denominator), context_.integer(0)));
}

int64_t SizeVars::optimization_hint(Expr expr, int64_t fallback) const { return size_hint(simplify(expr), fallback); }

int64_t SizeVars::guarding_hint(Expr expr, std::string_view reason) {
  expr = simplify(expr);
  if (expr.is_integer()) return expr.integer();
  std::optional<int64_t> value = evaluate(expr, [](Expr symbol) { return symbol.hint(); });
  if (!value)
    user_error(
        "the compiler needs the value of {}, which is known only when the graph runs{}{}; mark the size as static or "
        "check it",
        to_string(expr), reason.empty() ? "" : ", for ", reason);
  bool boolean = expr.range() == ValueRange{0, 1} && !expr.is_symbol();
  Expr condition = !boolean ? eq(expr, context_.integer(*value)) : *value ? expr : logical_not(expr);
  if (truth(condition) == Truth::kTrue) return *value;
  LITZ_CHECK(!guards_frozen_, "guard {} is added after guards were frozen{}{}", to_string(condition), reason.empty() ? "" : ", for ",
             reason);
  guards_.push_back({condition, std::string(reason)});
  learn(condition);
  return *value;
}

std::vector<SizeVars::Guard> SizeVars::take_new_guards() {
  std::vector<Guard> result(guards_.begin() + taken_guards_, guards_.end());
  taken_guards_ = guards_.size();
  return result;
}

}  // namespace litz
