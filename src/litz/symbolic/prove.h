#pragma once
// Proofs of inequalities by substituting extremes: an expression is at least what it is with each loop variable at the
// end of its extent at which the (proven) sign of its coefficient makes it least. See docs/math/bounds.md.
#include "litz/symbolic/expr_context.h"

namespace litz {

bool prove_nonnegative(Expr e);
bool prove_positive(Expr e);
/// 0 <= e < bound.
bool prove_in_range(Expr e, Expr bound);
bool prove_less_equal(Expr a, Expr b);
bool prove_less(Expr a, Expr b);
/// Whether a rule may divide x by this product of divisors that divided parts of x: with loop variables 64 bits must hold the product
/// wherever x has a value; without, the quotient is computed before a call in more bits, which hold products of a few sizes.
bool prove_divisor_fits(Expr x, Expr divisor);
/// Whether a rule may divide the sum of both, of which only x is known to fit: with loop variables 64 bits must hold the sum too.
bool prove_dividend_fits(Expr x, Expr added);

}  // namespace litz
