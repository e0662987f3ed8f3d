#include "litz/symbolic/polynomial.h"

#include <algorithm>
#include <numeric>

namespace litz {

namespace {
// A product of sums beyond this many terms stays a product.
constexpr size_t kMaxDistributed = 512;

size_t term_count(Expr e) { return e.kind() == ExprKind::kAdd ? e.operands().size() : 1; }
}  // namespace

std::strong_ordering compare_monomials(Expr a, Expr b) {
  if (a == b) return std::strong_ordering::equal;
  std::span<const Expr> left = factors_of(a), right = factors_of(b);
  size_t common = std::min(left.size(), right.size());
  for (size_t i = 0; i < common; ++i)
    if (left[i] != right[i]) return compare_exprs(left[i], right[i]);
  return right.size() <=> left.size();  // the multiple of the other is the greater, and stands first
}

void Polynomial::add_term(int64_t coefficient, Expr core) {
  if (coefficient == 0) return;
  if (core.kind() == ExprKind::kAdd) return add(core, coefficient);
  if (core.range().is_single()) {
    add_constant(checked_mul(coefficient, core.range().lower));
    return;
  }
  terms.push_back({coefficient, core});
}

void Polynomial::add(Expr e, int64_t scale) {
  switch (e.kind()) {
    case ExprKind::kInteger: add_constant(checked_mul(e.node()->value, scale)); return;
    case ExprKind::kAdd:
      for (Expr operand : e.operands()) add(operand, scale);
      return;
    default: {
      Term term = term_of(e);
      add_term(checked_mul(term.coefficient, scale), term.core);
    }
  }
}

void Polynomial::add_product(int64_t scale, Expr core, Expr e) {
  if (!core) return add(e, scale);
  switch (e.kind()) {
    case ExprKind::kInteger: add_term(checked_mul(e.node()->value, scale), core); return;
    case ExprKind::kAdd:
      for (Expr operand : e.operands()) add_product(scale, core, operand);
      return;
    default: {
      Term term = term_of(e);
      add_term(checked_mul(term.coefficient, scale), multiply_cores(impl_, core, term.core));
    }
  }
}

void Polynomial::collect() {
  auto before = [](const Term& a, const Term& b) { return compare_monomials(a.core, b.core) < 0; };
  // Most sums are merges of sorted ones: insertion sort is linear on them.
  if (terms.size() <= 16) {
    for (size_t i = 1; i < terms.size(); ++i) {
      Term term = terms[i];
      size_t at = i;
      for (; at > 0 && before(term, terms[at - 1]); --at) terms[at] = terms[at - 1];
      terms[at] = term;
    }
  } else {
    std::sort(terms.begin(), terms.end(), before);
  }
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    Term term = terms[i++];
    for (; i < terms.size() && terms[i].core == term.core; ++i) term.coefficient = checked_add(term.coefficient, terms[i].coefficient);
    if (term.coefficient != 0) terms[kept++] = term;
  }
  terms.resize_down(kept);
}

// Defined in merge_div_mod.cpp: replaces x//d*d + x%d by x and (x//a)%b*a + x%a by x%(a*b); true when something
// changed.
bool merge_div_mod(ExprContext::Impl& impl, Polynomial& sum);

Expr Polynomial::to_expr() {
  collect();
  bool has_mod = false;
  for (const Term& term : terms) has_mod |= has_flag(term.core, kFlagModFactor);
  if (has_mod)
    while (merge_div_mod(impl_, *this)) collect();
  if (terms.empty()) return impl_.integer(constant);
  if (terms.size() == 1 && constant == 0) return make_term(impl_, terms[0].coefficient, terms[0].core);
  InlineVector<Expr, 16> operands;
  for (const Term& term : terms) operands.push_back(make_term(impl_, term.coefficient, term.core));
  if (constant != 0) operands.push_back(impl_.integer(constant));
  return impl_.intern(ExprKind::kAdd, operands);
}

Expr make_term(ExprContext::Impl& impl, int64_t coefficient, Expr core) {
  if (!core || coefficient == 0) return impl.integer(coefficient);
  if (coefficient == 1) return core;
  InlineVector<Expr, 8> operands;
  operands.push_back(impl.integer(coefficient));
  operands.append(factors_of(core));
  return impl.intern(ExprKind::kMul, operands);
}

Expr multiply_cores(ExprContext::Impl& impl, Expr a, Expr b) {
  if (!a) return b;
  if (!b) return a;
  InlineVector<Expr, 8> merged;
  std::span<const Expr> left = factors_of(a), right = factors_of(b);
  size_t i = 0, j = 0;
  while (i < left.size() && j < right.size()) merged.push_back(compare_exprs(left[i], right[j]) <= 0 ? left[i++] : right[j++]);
  merged.append(left.subspan(i));
  merged.append(right.subspan(j));
  return impl.intern(ExprKind::kMul, merged);
}

namespace {
Expr core_of_factors(ExprContext::Impl& impl, std::span<const Expr> factors) {
  if (factors.empty()) return Expr();
  return factors.size() == 1 ? factors[0] : impl.intern(ExprKind::kMul, factors);
}
}  // namespace

std::optional<Expr> divide_cores(ExprContext::Impl& impl, Expr monomial, Expr divisor) {
  if (!divisor) return monomial;
  if (!monomial) return std::nullopt;
  if (monomial == divisor) return Expr();
  std::span<const Expr> left = factors_of(monomial), right = factors_of(divisor);
  if (left.size() <= right.size()) return std::nullopt;
  InlineVector<Expr, 8> rest;
  size_t j = 0;
  for (Expr factor : left) {
    if (j < right.size() && factor == right[j]) ++j;
    else rest.push_back(factor);
  }
  if (j != right.size()) return std::nullopt;
  return core_of_factors(impl, rest);
}

Expr common_core(ExprContext::Impl& impl, Expr a, Expr b) {
  if (!a || !b) return Expr();
  if (a == b) return a;
  std::span<const Expr> left = factors_of(a), right = factors_of(b);
  InlineVector<Expr, 8> shared;
  for (size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    if (left[i] == right[j]) shared.push_back(left[i]), ++i, ++j;
    else if (compare_exprs(left[i], right[j]) < 0) ++i;
    else ++j;
  }
  return core_of_factors(impl, shared);
}

Term common_content(ExprContext::Impl& impl, Term a, Term b) {
  return {std::gcd(a.coefficient, b.coefficient), common_core(impl, a.core, b.core)};
}

Term content_of(Expr e) {
  auto content = [](Expr term) -> Term {
    if (term.is_integer()) return {std::gcd(term.node()->value, int64_t{0}), Expr()};
    Term parts = term_of(term);
    return {std::gcd(parts.coefficient, int64_t{0}), parts.core};
  };
  if (e.kind() != ExprKind::kAdd) return content(e);
  ExprContext::Impl& impl = impl_of(e);
  Term result = content(e.operands()[0]);
  for (Expr operand : e.operands().subspan(1)) {
    if (result.coefficient == 1 && !result.core) break;
    result = common_content(impl, result, content(operand));
  }
  return result;
}

namespace {

// Subtracts coefficient * core * divisor from the polynomial, which stays collected.
void subtract_multiple(Polynomial& from, int64_t coefficient, Expr core, Expr divisor) {
  from.add_product(-coefficient, core, divisor);
  from.collect();
}

PolynomialDivision divide_by_term(ExprContext::Impl& impl, Expr dividend, Term divisor) {
  Polynomial quotient(impl), remainder(impl);
  Polynomial parts(impl);
  parts.add(dividend);
  for (const Term& term : parts.terms) {
    std::optional<Expr> core = divide_cores(impl, term.core, divisor.core);
    int64_t times = core ? term.coefficient / divisor.coefficient : 0;
    if (times != 0) {
      if (*core) quotient.add_term(times, *core);
      else quotient.add_constant(times);
    }
    remainder.add_term(term.coefficient - times * divisor.coefficient, term.core);
  }
  int64_t constant = parts.constant;
  if (!divisor.core) {
    int64_t magnitude = divisor.coefficient;
    int64_t times = constant / magnitude;
    constant -= times * magnitude;
    if (constant < 0) {
      times -= magnitude > 0 ? 1 : -1;
      constant += magnitude > 0 ? magnitude : -magnitude;
    }
    quotient.add_constant(times);
  }
  remainder.add_constant(constant);
  return {quotient.to_expr(), remainder.to_expr()};
}

// One pass over the terms of the dividend with the leading term of the divisor. `greedy` takes only the steps that
// shorten the remainder; otherwise every step is taken, as in long division.
PolynomialDivision divide_by_sum(ExprContext::Impl& impl, Expr dividend, Expr divisor, bool greedy) {
  Polynomial quotient(impl), rest(impl);
  rest.add(dividend);
  Term leading = term_of(divisor.operands()[0]);
  size_t steps = 0;
  for (size_t i = 0; i < rest.terms.size() && steps < 64;) {
    Term term = rest.terms[i];
    std::optional<Expr> core = divide_cores(impl, term.core, leading.core);
    if (!core || term.coefficient % leading.coefficient != 0) {
      ++i;
      continue;
    }
    int64_t times = term.coefficient / leading.coefficient;
    size_t before = rest.terms.size() + (rest.constant != 0);
    subtract_multiple(rest, times, *core, divisor);
    ++steps;
    if (greedy && rest.terms.size() + (rest.constant != 0) >= before) {
      rest.add_product(times, *core, divisor);
      rest.collect();
      ++i;
      continue;
    }
    if (*core) quotient.add_term(times, *core);
    else quotient.add_constant(times);
    i = 0;
  }
  return {quotient.to_expr(), rest.to_expr()};
}

}  // namespace

PolynomialDivision divide_polynomial(Expr dividend, Expr divisor) {
  ExprContext::Impl& impl = impl_of(dividend);
  if (divisor.is_integer()) return divide_by_term(impl, dividend, {divisor.node()->value, Expr()});
  if (divisor.kind() != ExprKind::kAdd) return divide_by_term(impl, dividend, term_of(divisor));
  if (term_count(dividend) < 2) return {impl.integer(0), dividend};
  PolynomialDivision whole = divide_by_sum(impl, dividend, divisor, false);
  if (whole.remainder.is_integer(0)) return whole;
  return divide_by_sum(impl, dividend, divisor, true);
}

std::optional<Expr> divide_exactly(Expr dividend, Expr divisor) {
  if (dividend == divisor) return impl_of(dividend).integer(1);
  PolynomialDivision division = divide_polynomial(dividend, divisor);
  if (!division.remainder.is_integer(0)) return std::nullopt;
  return division.quotient;
}

Expr sum(ExprContext& context, std::span<const Expr> terms) {
  Polynomial total(context.impl());
  for (Expr term : terms) total.add(term);
  return total.to_expr();
}

namespace {
Expr add_scaled(Expr a, Expr b, int64_t scale, ExprOp op) {
  check_same_context(a, b);
  ExprContext::Impl& impl = impl_of(a);
  ExprContext::Impl::Memo& memo = impl.memo(op, a, b);
  if (impl.memo_hit(memo, op, a, b)) return Expr(memo.result);
  Polynomial total(impl);
  total.add(a);
  total.add(b, scale);
  uint64_t cuts = impl.proof_cuts;
  Expr result = total.to_expr();
  if (impl.proof_cuts == cuts) impl.memo_fill(memo, op, a, b, result);
  return result;
}
}  // namespace

Expr operator+(Expr a, Expr b) { return add_scaled(a, b, 1, ExprOp::kAdd); }
Expr operator-(Expr a, Expr b) { return add_scaled(a, b, -1, ExprOp::kSub); }
Expr operator-(Expr a) { return a * int64_t{-1}; }
Expr operator+(Expr a, int64_t b) { return b == 0 ? a : a + a.context().integer(b); }
Expr operator-(Expr a, int64_t b) { return a - a.context().integer(b); }

Expr operator*(Expr a, int64_t b) {
  if (b == 1) return a;
  Polynomial scaled(impl_of(a));
  scaled.add(a, b);
  return scaled.to_expr();
}

Expr operator*(Expr a, Expr b) {
  check_same_context(a, b);
  if (b.is_integer()) return a * b.node()->value;
  if (a.is_integer()) return b * a.node()->value;
  ExprContext::Impl& impl = impl_of(a);
  ExprContext::Impl::Memo& memo = impl.memo(ExprOp::kMul, a, b);
  if (impl.memo_hit(memo, ExprOp::kMul, a, b)) return Expr(memo.result);
  uint64_t cuts = impl.proof_cuts;
  Expr result;
  if (term_count(a) * term_count(b) > kMaxDistributed) {
    result = make_term(impl, 1, multiply_cores(impl, a, b));
  } else {
    Polynomial total(impl);
    for (Expr term : a.kind() == ExprKind::kAdd ? a.operands() : std::span<const Expr>(&a, 1)) {
      if (term.is_integer()) total.add(b, term.node()->value);
      else total.add_product(term_of(term).coefficient, term_of(term).core, b);
    }
    result = total.to_expr();
  }
  if (impl.proof_cuts == cuts) impl.memo_fill(memo, ExprOp::kMul, a, b, result);
  return result;
}

Expr product(ExprContext& context, std::span<const Expr> factors) {
  Expr result = context.integer(1);
  for (Expr factor : factors) result = result * factor;
  return result;
}

}  // namespace litz
