#include "litz/codegen/index_spelling.h"

#include <fmt/format.h>

namespace litz {
namespace {

// Levels of binding; comparisons stand below or above conjunctions.
constexpr int kLooseComparison = 1, kDisjunction = 2, kConjunction = 3, kTightComparison = 4, kSum = 5, kProduct = 6, kAtom = 7;

std::string wrap(std::string text, bool parentheses) { return parentheses ? "(" + text + ")" : text; }

const char* comparison(ExprKind kind) {
  switch (kind) {
    case ExprKind::kEq: return "==";
    case ExprKind::kNe: return "!=";
    case ExprKind::kLt: return "<";
    default: return "<=";
  }
}

}  // namespace

int IndexSpelling::level_of(Place place) const {
  switch (place) {
    case Place::kAny: return 0;
    case Place::kComparison: return words_.comparisons_bind_loosest ? kLooseComparison : kTightComparison;
    case Place::kSum: return kSum;
    case Place::kProduct: return kProduct;
    case Place::kAtom: return kAtom;
  }
  return kAtom;
}

/// a + b + c; what begins with a minus is subtracted.
std::string IndexSpelling::joined(Expr expr, const char* glue, int level, int parent) const {
  std::string text;
  for (Expr operand : expr.operands()) {
    const std::string piece = part(operand, level);
    if (text.empty()) text = piece;
    else if (level == kSum && piece.starts_with('-')) text += " - " + piece.substr(1);
    else text += glue + piece;
  }
  return wrap(text, parent > level);
}

/// f(f(a, b), c)
std::string IndexSpelling::nested(Expr expr, const char* function) const {
  std::string text = part(expr.operands()[0], 0);
  for (Expr operand : expr.operands().subspan(1)) text = fmt::format("{}({}, {})", function, text, part(operand, 0));
  return text;
}

std::string IndexSpelling::part(Expr expr, int parent) const {
  if (!expr.is_symbol() && !expr.is_integer())
    if (const std::string* text = known(expr)) return *text;
  const std::span<const Expr> operands = expr.operands();
  switch (expr.kind()) {
    case ExprKind::kInteger: return integer(expr.integer());
    case ExprKind::kSymbol: return symbol(expr);
    case ExprKind::kAdd: return joined(expr, " + ", kSum, parent);
    case ExprKind::kMul:
      if (operands[0].is_integer(-1) && operands.size() == 2) return wrap("-" + part(operands[1], kAtom), parent > kSum);
      return joined(expr, " * ", kProduct, parent);
    case ExprKind::kFloorDiv:
    case ExprKind::kMod: {
      const bool is_division = expr.kind() == ExprKind::kFloorDiv;
      if (operands[0].range().lower >= 0 && operands[1].range().lower >= 0)
        return wrap(fmt::format("{} {} {}", part(operands[0], kAtom), is_division ? words_.quotient : "%", part(operands[1], kAtom)),
                    parent > kSum);
      return nested(expr, is_division ? words_.floor_div : words_.mod);
    }
    case ExprKind::kMin: return nested(expr, words_.minimum);
    case ExprKind::kMax: return nested(expr, words_.maximum);
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kLt:
    case ExprKind::kLe: {
      const int level = level_of(Place::kComparison);
      return wrap(fmt::format("{} {} {}", part(operands[0], level + 1), comparison(expr.kind()), part(operands[1], level + 1)),
                  parent >= level);
    }
    case ExprKind::kAnd: return joined(expr, words_.conjunction, kConjunction, parent);
    case ExprKind::kOr: return joined(expr, words_.disjunction, kDisjunction, parent);
    case ExprKind::kNot: {
      auto [text, is_atom] = negation(operands[0]);
      return wrap(std::move(text), !is_atom && parent >= level_of(Place::kComparison));
    }
    case ExprKind::kSelect: return choice(operands[0], operands[1], operands[2]);
  }
  return {};
}

}  // namespace litz
