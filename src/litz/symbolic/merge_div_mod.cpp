// The rules by which a sum takes a position back from its parts, run when a term of a sum has a mod among its factors:
//   c*m*d*(x // d) + c*m*(x % d)            ->  c*m*x
//   c*m*d*(y % b)  + c*m*(x % d)            ->  c*m*((x + d*k) % (d*b))   where y = x // d + k, d > 0, b > 0, and d*b fits
// Proofs: docs/math/div_mod.md.
#include "litz/symbolic/polynomial.h"
#include "litz/symbolic/prove.h"

namespace litz {
namespace {

// A term c * rest * atom.
struct Factored {
  int64_t coefficient;
  Expr rest;  // null is 1
  Expr atom;
};

template <typename Use>
bool for_each_mod_factor(ExprContext::Impl& impl, const Term& term, Use use) {
  if (!has_flag(term.core, kFlagModFactor)) return false;
  Expr core = term.core;
  Expr previous;
  for (Expr factor : factors_of(core)) {
    if (factor.kind() != ExprKind::kMod || factor == previous) continue;
    previous = factor;
    if (use(Factored{term.coefficient, *divide_cores(impl, core, factor), factor})) return true;
  }
  return false;
}

const Term* find_core(const Polynomial& sum, Expr core) {
  for (const Term& term : sum.terms)
    if (term.core == core) return &term;
  return nullptr;
}

bool has_floor_factor(Expr core) {
  for (Expr factor : factors_of(core))
    if (factor.kind() == ExprKind::kFloorDiv) return true;
  return false;
}

bool merge_quotient(ExprContext::Impl& impl, Polynomial& sum, const Factored& mod_term) {
  Expr x = mod_term.atom.operands()[0], d = mod_term.atom.operands()[1];
  Expr quotient = floor_div(x, d);
  if (quotient.kind() == ExprKind::kInteger) return false;
  Polynomial partner(impl);
  partner.add_product(mod_term.coefficient, mod_term.rest, quotient * d);
  partner.collect();
  bool found = false;
  for (const Term& term : partner.terms) {
    if (!has_floor_factor(term.core) && !has_flag(term.core, kFlagModFactor)) continue;
    const Term* match = find_core(sum, term.core);
    if (!match || match->coefficient != term.coefficient) return false;
    found = true;
  }
  if (!found) return false;
  sum.add_term(-mod_term.coefficient, multiply_cores(impl, mod_term.rest, mod_term.atom));
  sum.add_product(-mod_term.coefficient, mod_term.rest, quotient * d);
  sum.add_product(mod_term.coefficient, mod_term.rest, x);
  return true;
}

bool merge_mods(ExprContext::Impl& impl, Polynomial& sum, const Factored& inner) {
  Expr x = inner.atom.operands()[0], d = inner.atom.operands()[1];
  if (d.kind() == ExprKind::kAdd) return false;
  Term scale = d.is_integer() ? Term{d.integer(), Expr()} : term_of(d);
  int64_t outer_coefficient = checked_mul(inner.coefficient, scale.coefficient);
  Expr outer_rest = multiply_cores(impl, inner.rest, scale.core);
  for (const Term& term : sum.terms) {
    if (term.coefficient != outer_coefficient) continue;
    bool merged = for_each_mod_factor(impl, term, [&](const Factored& outer) {
      if (outer.rest != outer_rest) return false;
      Expr y = outer.atom.operands()[0], b = outer.atom.operands()[1];
      Expr shift = y - floor_div(x, d);
      if (has_flag(shift, kFlagCompound) || !prove_positive(d) || !prove_positive(b)) return false;
      Expr modulus = d * b, added = shift * d;
      if (!prove_dividend_fits(x, added) || !prove_divisor_fits(x, modulus)) return false;
      Expr merged_mod = mod(x + added, modulus);
      sum.add_term(-inner.coefficient, multiply_cores(impl, inner.rest, inner.atom));
      sum.add_term(-outer.coefficient, multiply_cores(impl, outer.rest, outer.atom));
      sum.add_product(inner.coefficient, inner.rest, merged_mod);
      return true;
    });
    if (merged) return true;
  }
  return false;
}

}  // namespace

bool merge_div_mod(ExprContext::Impl& impl, Polynomial& sum) {
  if (sum.terms.size() < 2) return false;
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    Term term = sum.terms[i];
    bool merged = for_each_mod_factor(
        impl, term, [&](const Factored& factored) { return merge_quotient(impl, sum, factored) || merge_mods(impl, sum, factored); });
    if (merged) return true;
  }
  return false;
}

}  // namespace litz
