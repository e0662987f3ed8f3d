#pragma once
// Sums of integer multiples of monomials: what kAdd and kMul nodes are, taken apart and put together. A monomial
// ("core") is an atom (a symbol, a floor_div, a min, ...) or a kMul of atoms without a constant. The order of monomials
// is lexicographic with the first atom as the greatest variable: a monomial order, so the first term of a canonical sum
// is its leading term, and division by a sum ends.
#include "litz/symbolic/expr_context.h"

namespace litz {

struct Term {
  int64_t coefficient;
  Expr core;
};

/// The factors of a monomial, in order. `core` must outlive the span.
inline std::span<const Expr> factors_of(const Expr& core) {
  return core.kind() == ExprKind::kMul ? core.operands() : std::span<const Expr>(&core, 1);
}

/// Of an operand of a sum that is not a constant.
inline Term term_of(Expr e) { return {e.node()->core == e ? 1 : e.node()->value, e.node()->core}; }

std::strong_ordering compare_monomials(Expr a, Expr b);

class Polynomial {
 public:
  explicit Polynomial(ExprContext::Impl& impl) : impl_(impl) {}
  /// Adds scale * e.
  void add(Expr e, int64_t scale = 1);
  void add_constant(int64_t value) { constant = checked_add(constant, value); }
  void add_term(int64_t coefficient, Expr core);
  /// Adds scale * core * e, distributed; a null core is 1.
  void add_product(int64_t scale, Expr core, Expr e);
  /// Sorts, collects like terms, merges floor_div and mod pairs; the canonical sum. Terms are in order afterwards.
  Expr to_expr();
  void collect();

  InlineVector<Term, 12> terms;
  int64_t constant = 0;

 private:
  ExprContext::Impl& impl_;
};

/// coefficient * core as a node. A null core is 1.
Expr make_term(ExprContext::Impl& impl, int64_t coefficient, Expr core);
/// Product of two monomials; null stands for 1.
Expr multiply_cores(ExprContext::Impl& impl, Expr a, Expr b);

/// monomial / divisor where that is a monomial; a null result in the optional is 1. Null arguments are 1.
std::optional<Expr> divide_cores(ExprContext::Impl& impl, Expr monomial, Expr divisor);
/// Greatest common monomial; null is 1.
Expr common_core(ExprContext::Impl& impl, Expr a, Expr b);

/// dividend = quotient * divisor + remainder as polynomials, with as much in the quotient as makes the remainder
/// shorter. For an integer divisor the constant of the remainder lies in [0, |divisor|).
struct PolynomialDivision {
  Expr quotient;
  Expr remainder;
};
PolynomialDivision divide_polynomial(Expr dividend, Expr divisor);
/// The quotient when the remainder is zero.
std::optional<Expr> divide_exactly(Expr dividend, Expr divisor);

/// The greatest integer times monomial that divides every term; positive. Null core is 1.
Term content_of(Expr e);
Term common_content(ExprContext::Impl& impl, Term a, Term b);

}  // namespace litz
