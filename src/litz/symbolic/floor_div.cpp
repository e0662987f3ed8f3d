// floor_div and mod. Both come from one reduction of (dividend, divisor), so that they stay partners that sums can
// merge again:
//   floor_div(n0, d0) = quotient + sign * floor_div(n, d)        mod(n0, d0) = offset + scale * mod(n, d)
// Rules rewrite (n, d) until none applies or one decides the rest. Proofs: docs/math/div_mod.md.
#include <algorithm>

#include "litz/symbolic/expr_range.h"
#include "litz/symbolic/polynomial.h"
#include "litz/symbolic/prove.h"

namespace litz {
namespace {

struct Division {
  ExprContext::Impl& impl;
  Expr n, d;
  Expr quotient, offset, scale;
  bool negated = false;  // sign is -1
  bool decided = false;  // nothing of floor_div(n, d) and mod(n, d) is left
  std::optional<bool> positive = std::nullopt;

  bool divisor_positive() {
    if (!positive) positive = prove_positive(d);
    return *positive;
  }
  void add_quotient(Expr e) { quotient = negated ? quotient - e : quotient + e; }
  void add_offset(Expr e) { offset = offset + scale * e; }
  /// floor_div(n, d) = value and mod(n, d) = rest.
  void decide(Expr value, Expr rest) {
    add_quotient(value);
    add_offset(rest);
    decided = true;
  }
};

enum class Outcome { kNoMatch, kAgain, kDecided };

// Constants, 1 and -1, equal operands, negative constant divisors.
Outcome fold_trivial(Division& s) {
  if (s.d.is_integer()) {
    int64_t d = s.d.integer();
    LITZ_CHECK(d != 0, "{} is divided by zero", to_string(s.n));
    if (s.n.is_integer()) {
      s.decide(s.impl.integer(floor_div_int(s.n.integer(), d)), s.impl.integer(mod_int(s.n.integer(), d)));
      return Outcome::kDecided;
    }
    if (d == 1) {
      s.decide(s.n, s.impl.integer(0));
      return Outcome::kDecided;
    }
    if (d < 0) {  // n // -d = -n // d and n % -d = -(-n % d)
      s.n = -s.n;
      s.d = s.impl.integer(checked_mul(d, -1));
      s.scale = -s.scale;
      s.positive.reset();
      return Outcome::kAgain;
    }
  }
  if (s.n.is_integer(0)) {
    s.decide(s.n, s.n);
    return Outcome::kDecided;
  }
  return Outcome::kNoMatch;
}

// 0 <= n < d, or -d <= n < 0.
Outcome decide_by_bounds(Division& s) {
  if (prove_in_range(s.n, s.d)) {
    s.decide(s.impl.integer(0), s.n);
    return Outcome::kDecided;
  }
  if (s.n.range().lower < 0 && s.n.range().upper < kIntInf) {
    Expr flipped = s.n + s.d;
    if (prove_in_range(flipped, s.d)) {
      s.decide(s.impl.integer(-1), flipped);
      return Outcome::kDecided;
    }
  }
  return Outcome::kNoMatch;
}

// Terms of the dividend that the divisor divides leave it.
Outcome pull_out_multiples(Division& s) {
  PolynomialDivision division = divide_polynomial(s.n, s.d);
  if (division.quotient.is_integer(0)) return Outcome::kNoMatch;
  s.add_quotient(division.quotient);
  s.n = division.remainder;
  return Outcome::kAgain;
}

// (g*a) // (g*b) = a // b.
Outcome cancel_common_factor(Division& s) {
  Term common = common_content(s.impl, content_of(s.n), content_of(s.d));
  if (common.coefficient == 1 && !common.core) return Outcome::kNoMatch;
  Expr factor = make_term(s.impl, common.coefficient, common.core);
  s.n = *divide_exactly(s.n, factor);
  s.d = *divide_exactly(s.d, factor);
  s.scale = s.scale * factor;
  s.positive.reset();
  return Outcome::kAgain;
}

// (g*a + r) // (g*b) = a // b where 0 <= r < g and b > 0.
Outcome drop_low_part(Division& s) {
  if (s.n.kind() != ExprKind::kAdd || !s.divisor_positive()) return Outcome::kNoMatch;
  Term whole = content_of(s.d);
  InlineVector<Term, 8> candidates;
  for (Expr operand : s.n.operands()) {
    if (operand.is_integer()) continue;
    Term term = term_of(operand);
    Term candidate = common_content(s.impl, whole, term);
    if (candidate.coefficient == 1 && !candidate.core) continue;
    bool known = false;
    for (const Term& other : candidates) known |= other.coefficient == candidate.coefficient && other.core == candidate.core;
    if (!known && candidates.size() < 8) candidates.push_back(candidate);
  }
  auto size = [](const Term& t) { return t.core ? factors_of(t.core).size() : 0; };
  std::sort(candidates.begin(), candidates.end(),
            [&](const Term& a, const Term& b) { return size(a) != size(b) ? size(a) > size(b) : a.coefficient > b.coefficient; });
  for (const Term& candidate : candidates) {
    Expr factor = make_term(s.impl, candidate.coefficient, candidate.core);
    PolynomialDivision division = divide_polynomial(s.n, factor);
    if (!prove_in_range(division.remainder, factor)) continue;
    s.add_offset(division.remainder);
    s.n = division.quotient;
    s.d = *divide_exactly(s.d, factor);
    s.scale = s.scale * factor;
    s.positive.reset();
    return Outcome::kAgain;
  }
  return Outcome::kNoMatch;
}

// -m // d = -1 - (m - 1) // d and -m % d = d - 1 - (m - 1) % d for d > 0: the leading term of a dividend is positive.
Outcome negate_dividend(Division& s) {
  Expr leading = s.n.kind() == ExprKind::kAdd ? s.n.operands()[0] : s.n;
  if (leading.is_integer() || term_of(leading).coefficient > 0 || !s.divisor_positive()) return Outcome::kNoMatch;
  s.n = -s.n - 1;
  s.add_quotient(s.impl.integer(-1));
  s.negated = !s.negated;
  s.add_offset(s.d - 1);
  s.scale = -s.scale;
  return Outcome::kAgain;
}

struct DivisionRule {
  const char* name;
  Outcome (*apply)(Division&);
};

// In this order: cheap ones first; bounds before multiples, since s0 - 1 - i0 over s0 is 0 and not 1 + (-1 - i0) // s0.
constexpr DivisionRule kDivisionRules[] = {
    {"fold_trivial", fold_trivial},
    {"decide_by_bounds", decide_by_bounds},
    {"pull_out_multiples", pull_out_multiples},
    {"cancel_common_factor", cancel_common_factor},
    {"drop_low_part", drop_low_part},
    {"negate_dividend", negate_dividend},
};

void reduce(Division& s) {
  for (int rounds = 0; rounds < 64 && !s.decided;) {
    Outcome outcome = Outcome::kNoMatch;
    for (const DivisionRule& rule : kDivisionRules) {
      outcome = rule.apply(s);
      if (outcome != Outcome::kNoMatch) break;
    }
    if (outcome != Outcome::kAgain) return;
    ++rounds;
  }
}

// The one floor_div among the terms of a dividend: x // a + rest, where rest holds nothing but sums and products of
// symbols.
struct NestedFloor {
  Expr x, a, rest;
};
std::optional<NestedFloor> nested_floor(ExprContext::Impl& impl, Expr n) {
  if (n.kind() == ExprKind::kFloorDiv) return NestedFloor{n.operands()[0], n.operands()[1], impl.integer(0)};
  if (n.kind() != ExprKind::kAdd) return std::nullopt;
  Expr floor;
  for (Expr operand : n.operands()) {
    if (operand.kind() == ExprKind::kFloorDiv && !floor) floor = operand;
    else if (has_flag(operand, kFlagCompound)) return std::nullopt;
  }
  if (!floor) return std::nullopt;
  return NestedFloor{floor.operands()[0], floor.operands()[1], n - floor};
}

// (x // a + rest) // d = (x + a*rest) // (a*d) for d > 0, where the sum and the product that this makes fit.
std::optional<Expr> merge_nested(const NestedFloor& n, Expr d) {
  try {
    const Expr divisor = n.a * d, added = n.a * n.rest;
    if (!prove_dividend_fits(n.x, added) || !prove_divisor_fits(n.x, divisor)) return std::nullopt;
    return floor_div(n.x + added, divisor);
  } catch (const ExprOverflow&) { return std::nullopt; }
}

// What is left of floor_div(n, d) when no rule of both applies.
Expr floor_atom(Division& s) {
  Expr n = s.n, d = s.d;
  if (ValueRange range = range_floor_div(n.range(), d.range()); range.is_single()) return s.impl.integer(range.lower);
  if (std::optional<NestedFloor> nested = nested_floor(s.impl, n); nested && s.divisor_positive())
    if (std::optional<Expr> merged = merge_nested(*nested, d)) return *merged;
  // (x % (d*b)) // d = (x // d) % b for d > 0, b > 0.
  if (n.kind() == ExprKind::kMod && s.divisor_positive())
    if (std::optional<Expr> b = divide_exactly(n.operands()[1], d); b && prove_positive(*b)) return mod(floor_div(n.operands()[0], d), *b);
  Expr operands[] = {n, d};
  return s.impl.intern(ExprKind::kFloorDiv, operands);
}

// A term c*(x % m) of a dividend of which d divides c*m counts as c*x, if that fits.
std::optional<Expr> drop_inner_mods(ExprContext::Impl& impl, Expr n, Expr d) {
  if (!has_flag(n, kFlagModFactor)) return std::nullopt;
  bool changed = false;
  Polynomial result(impl);
  Expr single[] = {n};
  for (Expr operand : n.kind() == ExprKind::kAdd ? n.operands() : std::span<const Expr>(single)) {
    bool dropped = false;
    if (!operand.is_integer() && has_flag(operand, kFlagModFactor)) {
      Term term = term_of(operand);
      for (Expr factor : factors_of(term.core)) {
        if (factor.kind() != ExprKind::kMod) continue;
        Expr rest = *divide_cores(impl, term.core, factor);
        Expr scale = make_term(impl, term.coefficient, rest);
        if (!divide_exactly(scale * factor.operands()[1], d)) continue;
        const Expr whole = scale * factor.operands()[0];
        const bool is_itself = scale.is_integer(1) || scale.is_integer(-1);
        if (!is_itself && !prove_dividend_fits(impl.integer(0), whole)) continue;
        result.add(whole);
        dropped = true;
        break;
      }
    }
    changed |= dropped;
    if (!dropped) result.add(operand);
  }
  if (!changed) return std::nullopt;
  return result.to_expr();
}

Expr mod_atom(Division& s) {
  if (std::optional<Expr> simpler = drop_inner_mods(s.impl, s.n, s.d)) return mod(*simpler, s.d);
  if (ValueRange range = range_mod(s.n.range(), s.d.range()); range.is_single()) return s.impl.integer(range.lower);
  Expr operands[] = {s.n, s.d};
  return s.impl.intern(ExprKind::kMod, operands);
}

Expr divide(Expr n, Expr d, bool want_quotient) {
  check_same_context(n, d);
  ExprContext::Impl& impl = impl_of(n);
  ExprOp op = want_quotient ? ExprOp::kFloorDiv : ExprOp::kMod;
  ExprContext::Impl::Memo& memo = impl.memo(op, n, d);
  if (impl.memo_hit(memo, op, n, d)) return Expr(memo.result);
  uint64_t cuts = impl.proof_cuts;
  Expr zero = impl.integer(0);
  Division s{.impl = impl, .n = n, .d = d, .quotient = zero, .offset = zero, .scale = impl.integer(1)};
  reduce(s);
  Expr result;
  if (want_quotient) {
    result = s.quotient;
    if (!s.decided) {
      Expr floor = floor_atom(s);
      result = s.negated ? result - floor : result + floor;
    }
  } else {
    result = s.decided ? s.offset : s.offset + s.scale * mod_atom(s);
  }
  if (impl.proof_cuts == cuts) impl.memo_fill(memo, op, n, d, result);
  return result;
}

}  // namespace

Expr floor_div(Expr a, Expr b) { return divide(a, b, true); }
Expr floor_div(Expr a, int64_t b) { return floor_div(a, a.context().integer(b)); }
Expr mod(Expr a, Expr b) { return divide(a, b, false); }
Expr mod(Expr a, int64_t b) { return mod(a, a.context().integer(b)); }

Expr ceil_div(Expr a, Expr b) {
  if (prove_positive(b)) return floor_div(a + b - 1, b);
  return -floor_div(-a, b);
}
Expr ceil_div(Expr a, int64_t b) { return ceil_div(a, a.context().integer(b)); }

}  // namespace litz
