#include "litz/symbolic/prove.h"

#include "litz/symbolic/polynomial.h"

namespace litz {
namespace {

constexpr int kMaxProofDepth = 24;
constexpr int kMaxProofSteps = 200;  // of one outermost question

bool prove(Expr e);

// e = coefficient * atom + rest, where the coefficient may hold the atom again.
struct Split {
  Expr coefficient, rest;
};
Split split_by(Expr e, Expr atom) {
  ExprContext::Impl& impl = impl_of(e);
  Polynomial parts(impl), coefficient(impl), rest(impl);
  parts.add(e);
  for (const Term& term : parts.terms) {
    std::optional<Expr> core = divide_cores(impl, term.core, atom);
    if (!core) rest.add_term(term.coefficient, term.core);
    else if (*core) coefficient.add_term(term.coefficient, *core);
    else coefficient.add_constant(term.coefficient);
  }
  rest.add_constant(parts.constant);
  return {coefficient.to_expr(), rest.to_expr()};
}

enum class Sign { kUnknown, kNonNegative, kNonPositive };
Sign sign_of(Expr e) {
  if (e.range().lower >= 0) return Sign::kNonNegative;
  if (e.range().upper <= 0) return Sign::kNonPositive;
  if (e.is_integer() || has_flag(e, kFlagExactRange)) return Sign::kUnknown;
  if (prove(e)) return Sign::kNonNegative;
  if (prove(-e)) return Sign::kNonPositive;
  return Sign::kUnknown;
}

/// Distinct atoms of the terms: compound ones, then loop symbols, then sizes. Compound ones first, while the terms that
/// they correlate with are still there.
void list_atoms(Expr e, InlineVector<Expr, 16>& atoms) {
  auto group = [](Expr atom) { return !atom.is_symbol() ? 0 : is_loop_symbol(atom) ? 1 : 2; };
  for (int wanted = 0; wanted < 3; ++wanted)
    for (Expr operand : e.operands()) {
      if (operand.is_integer()) continue;
      for (Expr atom : factors_of(operand.node()->core)) {
        if (group(atom) != wanted) continue;
        bool known = false;
        for (Expr other : atoms) known |= other == atom;
        if (!known) atoms.push_back(atom);
      }
    }
}

/// The bound of a symbol on the wanted side, or null.
Expr symbol_bound(Expr symbol, bool upper) {
  ExprContext& context = symbol.context();
  if (!upper) return symbol.range().lower == -kIntInf ? Expr() : context.integer(symbol.range().lower);
  if (is_loop_symbol(symbol)) return symbol.extent() - 1;
  return symbol.range().upper == kIntInf ? Expr() : context.integer(symbol.range().upper);
}

// coefficient * atom + rest >= 0 for a compound atom and a coefficient of known sign. Each alternative is enough.
bool prove_with_atom(Expr atom, const Split& split, bool coefficient_nonnegative) {
  std::span<const Expr> operands = atom.operands();
  auto with = [&](Expr bound) { return prove(split.coefficient * bound + split.rest); };
  auto any_operand = [&] {
    for (Expr operand : operands)
      if (with(operand)) return true;
    return false;
  };
  auto every_operand = [&](std::span<const Expr> which) {
    for (Expr operand : which)
      if (!with(operand)) return false;
    return true;
  };
  switch (atom.kind()) {
    case ExprKind::kFloorDiv: {
      Expr x = operands[0], d = operands[1];
      if (!prove_positive(d)) break;
      // d * (x // d) lies in [x - d + 1, x].
      const Expr least = coefficient_nonnegative ? x - d + 1 : x;
      if (std::optional<Expr> times = divide_exactly(split.coefficient, d)) {
        if (prove(*times * least + split.rest)) return true;
      } else if (prove(split.coefficient * least + split.rest * d)) {  // d times the whole
        return true;
      }
      if (std::optional<Expr> bound = coefficient_nonnegative ? lower_bound(x) : upper_bound(x); bound && *bound != x) {
        Expr quotient = floor_div(*bound, d);
        if (quotient != atom && with(quotient)) return true;
      }
      break;
    }
    case ExprKind::kMod: {
      Expr x = operands[0], d = operands[1];
      if (!prove_positive(d)) break;
      if (coefficient_nonnegative) {
        if (with(atom.context().integer(0))) return true;
      } else {
        if (with(d - 1)) return true;
        if (prove(x) && with(x)) return true;
      }
      break;
    }
    case ExprKind::kMin:
      if (coefficient_nonnegative ? every_operand(operands) : any_operand()) return true;
      break;
    case ExprKind::kMax:
      if (coefficient_nonnegative ? any_operand() : every_operand(operands)) return true;
      break;
    case ExprKind::kSelect:
      if (every_operand(operands.subspan(1))) return true;
      break;
    default: break;
  }
  int64_t constant = coefficient_nonnegative ? atom.range().lower : atom.range().upper;
  return constant != -kIntInf && constant != kIntInf && with(atom.context().integer(constant));
}

bool prove_sum(Expr e) {
  InlineVector<Expr, 16> atoms;
  list_atoms(e, atoms);
  for (Expr atom : atoms) {
    Split split = split_by(e, atom);
    Sign sign = sign_of(split.coefficient);
    if (sign == Sign::kUnknown) continue;
    if (!atom.is_symbol()) {
      if (prove_with_atom(atom, split, sign == Sign::kNonNegative)) return true;
      continue;
    }
    Expr bound = symbol_bound(atom, sign == Sign::kNonPositive);
    // The ends of independent ranges are the extremes, so there is nothing to gain from another order.
    if (bound) return prove(split.coefficient * bound + split.rest);
  }
  return false;
}

bool prove_uncached(Expr e) {
  std::span<const Expr> operands = e.operands();
  switch (e.kind()) {
    case ExprKind::kAdd: return prove_sum(e);
    case ExprKind::kMul:
      for (Expr factor : operands)
        if (!prove(factor)) return false;
      return true;
    case ExprKind::kFloorDiv: return prove_positive(operands[1]) && prove(operands[0]);
    case ExprKind::kMod: return prove_positive(operands[1]);
    case ExprKind::kMin:
      for (Expr operand : operands)
        if (!prove(operand)) return false;
      return true;
    case ExprKind::kMax:
      for (Expr operand : operands)
        if (prove(operand)) return true;
      return false;
    case ExprKind::kSelect: return prove(operands[1]) && prove(operands[2]);
    default: return false;
  }
}

bool refuted_by_sample(Expr e) {
  const ExprNode& node = *e.node();
  for (int k = 0; k < ExprNode::kSamples; ++k)
    if (node.samples[k] < 0 && (node.valid_samples >> k & 1)) return true;
  return false;
}

bool prove(Expr e) {
  if (e.range().lower >= 0) return true;
  if (e.range().upper < 0 || e.is_symbol() || has_flag(e, kFlagExactRange) || refuted_by_sample(e)) return false;
  ExprContext::Impl& impl = impl_of(e);
  if (auto found = impl.nonnegative.find(e); found != impl.nonnegative.end()) return found->second;
  if (impl.proof_depth == 0) impl.proof_steps = 0;
  if (impl.proof_depth >= kMaxProofDepth || ++impl.proof_steps > kMaxProofSteps) {
    ++impl.proof_cuts;
    return false;
  }
  uint64_t cuts = impl.proof_cuts;
  ++impl.proof_depth;
  bool result = false;
  try {
    result = prove_uncached(e);
  } catch (const ExprOverflow&) {}
  --impl.proof_depth;
  if (result || impl.proof_cuts == cuts || impl.proof_depth == 0) impl.nonnegative.emplace(e, result);
  return result;
}

std::optional<Expr> bound(Expr e, bool upper) {
  ExprContext::Impl& impl = impl_of(e);
  for (int step = 0; step < 32; ++step) {
    if (!has_flag(e, kFlagLoopSymbol)) return e;
    Expr chosen;
    Split split;
    Sign sign = Sign::kUnknown;
    Polynomial parts(impl);
    parts.add(e);
    for (const Term& term : parts.terms) {
      for (Expr atom : factors_of(term.core)) {
        if (!has_flag(atom, kFlagLoopSymbol)) continue;
        split = split_by(e, atom);
        sign = sign_of(split.coefficient);
        if (sign != Sign::kUnknown) {
          chosen = atom;
          break;
        }
      }
      if (chosen) break;
    }
    if (!chosen) return std::nullopt;
    bool atom_upper = upper == (sign == Sign::kNonNegative);
    std::optional<Expr> limit;
    std::span<const Expr> operands = chosen.operands();
    if (chosen.is_symbol()) {
      limit = symbol_bound(chosen, atom_upper);
    } else if (chosen.kind() == ExprKind::kFloorDiv && !has_flag(operands[1], kFlagLoopSymbol) && prove_positive(operands[1])) {
      if (std::optional<Expr> inner = bound(operands[0], atom_upper)) limit = floor_div(*inner, operands[1]);
    } else if (chosen.kind() == ExprKind::kMod && !has_flag(operands[1], kFlagLoopSymbol) && prove_positive(operands[1])) {
      limit = atom_upper ? operands[1] - 1 : impl.integer(0);
    } else if (chosen.kind() == ExprKind::kMin || chosen.kind() == ExprKind::kMax) {
      InlineVector<Expr, 8> limits;
      for (Expr operand : operands) {
        std::optional<Expr> inner = bound(operand, atom_upper);
        if (!inner) break;
        limits.push_back(*inner);
      }
      if (limits.size() == operands.size()) {
        limit = limits[0];
        for (size_t i = 1; i < limits.size(); ++i)
          limit = chosen.kind() == ExprKind::kMin ? min(*limit, limits[i]) : max(*limit, limits[i]);
      }
    }
    if (!limit) {
      int64_t constant = atom_upper ? chosen.range().upper : chosen.range().lower;
      if (constant == kIntInf || constant == -kIntInf) return std::nullopt;
      limit = impl.integer(constant);
    }
    if (!*limit) return std::nullopt;
    e = split.coefficient * *limit + split.rest;
  }
  return std::nullopt;
}

// a + gap <= b fails at a sample: no need to build the difference.
bool order_refuted_by_sample(Expr a, Expr b, int64_t gap) {
  uint8_t valid = a.node()->valid_samples & b.node()->valid_samples;
  for (int k = 0; k < ExprNode::kSamples; ++k) {
    int64_t least;
    if ((valid >> k & 1) && !__builtin_add_overflow(a.node()->samples[k], gap, &least) && least > b.node()->samples[k]) return true;
  }
  return false;
}

template <typename Question>
bool ask(Question question) {
  try {
    return question();
  } catch (const ExprOverflow&) { return false; }
}

// Of 64 bits each; the product then fits the integers that evaluate wide programs.
constexpr size_t kMostFactors = 6;

size_t degree(Expr e) {
  size_t most = 0;
  for (Expr term : e.kind() == ExprKind::kAdd ? e.operands() : std::span<const Expr>(&e, 1))
    if (!term.is_integer()) most = std::max(most, factors_of(term_of(term).core).size());
  return most;
}

}  // namespace

bool prove_nonnegative(Expr e) { return prove(e); }
bool prove_positive(Expr e) {
  if (e.range().lower > 0) return true;
  if (e.range().upper <= 0 || e.is_symbol() || order_refuted_by_sample(e.context().integer(1), e, 0)) return false;
  return ask([&] { return prove(e - 1); });
}
bool prove_less_equal(Expr a, Expr b) {
  if (a == b || a.range().upper <= b.range().lower) return true;
  if (a.range().lower > b.range().upper || order_refuted_by_sample(a, b, 0)) return false;
  return ask([&] { return prove(b - a); });
}
bool prove_less(Expr a, Expr b) {
  if (a == b) return false;
  if (a.range().upper < b.range().lower) return true;
  if (a.range().lower >= b.range().upper || order_refuted_by_sample(a, b, 1)) return false;
  return ask([&] { return prove(b - a - 1); });
}
bool prove_in_range(Expr e, Expr bound) {
  if (e.range().lower < 0 && (e.range().upper < 0 || has_flag(e, kFlagExactRange))) return false;
  return !refuted_by_sample(e) && prove_less(e, bound) && prove(e);
}

bool prove_divisor_fits(Expr x, Expr divisor) {
  const ValueRange range = divisor.range();
  if (range.lower > -kIntInf && range.upper < kIntInf) return true;
  if (!has_flag(x, kFlagLoopSymbol) && !has_flag(divisor, kFlagLoopSymbol)) return degree(divisor) <= kMostFactors;
  // A multiple of the divisor that x >= 0 stays below is not 0, so it is no less than the divisor; and x comes next to it.
  if (!prove_nonnegative(x)) return false;
  const std::optional<Expr> most = upper_bound(x);
  return most && ask([&] { return divide_exactly(*most + 1, divisor).has_value(); });
}

bool prove_dividend_fits(Expr x, Expr added) {
  constexpr int64_t kFew = 1 << 20;  // far less than what no computer counts up to
  if (added.range().lower >= -kFew && added.range().upper <= kFew) return true;
  if (!has_flag(x, kFlagLoopSymbol) && !has_flag(added, kFlagLoopSymbol)) return true;
  const ValueRange range = (x + added).range();
  return range.lower > -kIntInf && range.upper < kIntInf;
}

bool provably_nonnegative(Expr expr) { return prove(expr); }

namespace {
std::optional<Expr> bound_or_nothing(Expr expr, bool upper) {
  try {
    return bound(expr, upper);
  } catch (const ExprOverflow&) { return std::nullopt; }
}
}  // namespace
std::optional<Expr> lower_bound(Expr expr) { return bound_or_nothing(expr, false); }
std::optional<Expr> upper_bound(Expr expr) { return bound_or_nothing(expr, true); }

}  // namespace litz
