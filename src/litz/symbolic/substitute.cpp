#include <algorithm>

#include "litz/symbolic/computed.h"
#include "litz/symbolic/evaluate.h"
#include "litz/symbolic/polynomial.h"

namespace litz {
namespace {

// Rebuilds a node over new operands through the constructors.
Expr rebuild(Expr e, std::span<const Expr> operands) {
  auto fold = [&](auto combine) {
    Expr result = operands[0];
    for (Expr operand : operands.subspan(1)) result = combine(result, operand);
    return result;
  };
  switch (e.kind()) {
    case ExprKind::kAdd: return sum(e.context(), operands);
    case ExprKind::kMul: return product(e.context(), operands);
    case ExprKind::kFloorDiv: return floor_div(operands[0], operands[1]);
    case ExprKind::kMod: return mod(operands[0], operands[1]);
    case ExprKind::kMin: return fold([](Expr a, Expr b) { return min(a, b); });
    case ExprKind::kMax: return fold([](Expr a, Expr b) { return max(a, b); });
    case ExprKind::kEq: return eq(operands[0], operands[1]);
    case ExprKind::kNe: return ne(operands[0], operands[1]);
    case ExprKind::kLt: return lt(operands[0], operands[1]);
    case ExprKind::kLe: return le(operands[0], operands[1]);
    case ExprKind::kAnd: return fold([](Expr a, Expr b) { return logical_and(a, b); });
    case ExprKind::kOr: return fold([](Expr a, Expr b) { return logical_or(a, b); });
    case ExprKind::kNot: return logical_not(operands[0]);
    case ExprKind::kSelect: return select(operands[0], operands[1], operands[2]);
    case ExprKind::kInteger:
    case ExprKind::kSymbol: break;
  }
  return e;
}

struct Substituter {
  explicit Substituter(const Substitution& map) {
    for (auto [symbol, replacement] : map) {
      LITZ_CHECK(symbol && symbol.is_symbol() && replacement, "only symbols are substituted");
      mask |= symbol.node()->symbol_mask;
      memo.emplace(symbol, replacement);
    }
  }

  Expr operator()(Expr e) {
    if (!(e.node()->symbol_mask & mask)) return e;
    if (auto found = memo.find(e); found != memo.end()) return found->second;
    if (e.is_symbol()) return e;
    InlineVector<Expr, 8> operands;
    bool changed = false;
    for (Expr operand : e.operands()) {
      operands.push_back((*this)(operand));
      changed |= operands.back() != operand;
    }
    Expr result = changed ? rebuild(e, operands) : e;
    memo.emplace(e, result);
    return result;
  }

  uint64_t mask = 0;
  std::unordered_map<Expr, Expr> memo;
};

void collect_symbols(Expr e, std::vector<Expr>& visited, std::vector<Expr>& symbols) {
  if (!e.node()->symbol_mask) return;
  if (std::find(visited.begin(), visited.end(), e) != visited.end()) return;
  visited.push_back(e);
  if (e.is_symbol()) symbols.push_back(e);
  for (Expr operand : e.operands()) collect_symbols(operand, visited, symbols);
}

bool depends(Expr e, Expr symbol) {
  if (e == symbol) return true;
  if (!(e.node()->symbol_mask & symbol.node()->symbol_mask)) return false;
  if (const Definition* definition = definition_of(e))
    return std::ranges::any_of(definition->steps, [&](const Definition::Step& step) { return step.expr && depends(step.expr, symbol); });
  for (Expr operand : e.operands())
    if (depends(operand, symbol)) return true;
  return false;
}

}  // namespace

Expr substitute(Expr expr, const Substitution& map) { return Substituter(map)(expr); }

std::vector<Expr> substitute(std::span<const Expr> exprs, const Substitution& map) {
  Substituter substituter(map);
  std::vector<Expr> result;
  result.reserve(exprs.size());
  for (Expr e : exprs) result.push_back(substituter(e));
  return result;
}

std::vector<Expr> free_symbols(Expr expr) {
  std::vector<Expr> visited, symbols;
  collect_symbols(expr, visited, symbols);
  std::sort(symbols.begin(), symbols.end(), [](Expr a, Expr b) { return a.id() < b.id(); });
  return symbols;
}

bool depends_on(Expr expr, Expr symbol) { return depends(expr, symbol); }

bool has_loop_symbols(Expr expr) { return has_flag(expr, kFlagLoopSymbol); }

std::optional<LinearForm> linear_form(Expr expr, std::span<const Expr> symbols) {
  ExprContext::Impl& impl = impl_of(expr);
  std::vector<std::unique_ptr<Polynomial>> coefficients;
  uint64_t mask = 0;
  for (Expr symbol : symbols) {
    coefficients.push_back(std::make_unique<Polynomial>(impl));
    mask |= symbol.node()->symbol_mask;
  }
  Polynomial parts(impl), rest(impl);
  parts.add(expr);
  rest.add_constant(parts.constant);
  for (const Term& term : parts.terms) {
    size_t found = symbols.size();
    if (term.core.node()->symbol_mask & mask) {
      for (Expr factor : factors_of(term.core)) {
        if (!(factor.node()->symbol_mask & mask)) continue;
        auto at = std::find(symbols.begin(), symbols.end(), factor);
        if (at != symbols.end()) {
          if (found != symbols.size()) return std::nullopt;  // a product of two of them, or a square
          found = at - symbols.begin();
        } else {
          for (Expr symbol : symbols)
            if (depends(factor, symbol)) return std::nullopt;
        }
      }
    }
    if (found == symbols.size()) rest.add_term(term.coefficient, term.core);
    else if (Expr core = *divide_cores(impl, term.core, symbols[found])) coefficients[found]->add_term(term.coefficient, core);
    else coefficients[found]->add_constant(term.coefficient);
  }
  LinearForm form;
  for (auto& coefficient : coefficients) form.coefficients.push_back(coefficient->to_expr());
  form.rest = rest.to_expr();
  return form;
}

namespace {

struct Evaluator {
  const std::function<std::optional<int64_t>(Expr)>& value_of;
  std::unordered_map<Expr, std::optional<WideInt>> memo;

  std::optional<WideInt> operator()(Expr e) {
    if (e.is_integer()) return e.integer();
    if (auto found = memo.find(e); found != memo.end()) return found->second;
    std::optional<WideInt> result;
    if (e.is_symbol()) result = value_of(e);
    else result = evaluate_node<WideInt>(e, *this);
    if (const Definition* definition = result ? nullptr : definition_of(e)) result = evaluate_definition(*definition, value_of);
    memo.emplace(e, result);
    return result;
  }
};

}  // namespace

std::optional<int64_t> evaluate(Expr expr, const std::function<std::optional<int64_t>(Expr)>& value_of) {
  return narrowed(Evaluator{value_of, {}}(expr));
}

}  // namespace litz
