// Numbers that a kernel is given instead of computing them: integers that follow from sizes alone by more than sums and products. The
// call computes them once, in as many bits as they need, and refuses what does not fit; a kernel would wrap.
#include <algorithm>
#include <unordered_set>

#include "litz/kernel/tree_passes.h"

namespace litz {
namespace {

class NumberFinder {
 public:
  std::vector<Expr> found;

  /// `is_exact`: sums and products are wanted too. They need not be where wrapping gives the value, because 64 bits hold it: of a place
  /// in memory, of an extent, of a divisor (prove_divisor_fits).
  void look_at(Expr e, bool is_exact) {
    if (!e || e.is_integer() || e.is_symbol() || !seen_[is_exact].insert(e).second) return;
    const bool is_sum = e.kind() == ExprKind::kAdd || e.kind() == ExprKind::kMul;
    // A boolean is none of the numbers that kernels are given; what it compares is.
    const bool is_wanted = is_sum ? is_exact && !is_small_sum(e) : !is_boolean(e.kind());
    if (is_wanted && !has_loop_symbols(e)) {
      if (std::ranges::find(found, e) == found.end()) found.push_back(e);
      return;
    }
    const bool is_quotient = e.kind() == ExprKind::kFloorDiv || e.kind() == ExprKind::kMod;
    for (Expr operand : e.operands()) look_at(operand, !is_sum && !is_quotient);
  }

 private:
  /// Few times a size, which no computer could count up to: "s0*2 - 3".
  static bool is_small_sum(Expr e) {
    constexpr int64_t kFew = 1 << 20;
    auto is_small_term = [](Expr term) {
      if (term.is_integer()) return term.integer() > -kFew && term.integer() < kFew;
      const bool is_multiple = term.kind() == ExprKind::kMul && term.operands().size() == 2 && term.operands()[0].is_integer();
      return is_multiple ? std::abs(term.operands()[0].integer()) < kFew && term.operands()[1].is_symbol() : term.is_symbol();
    };
    return e.kind() == ExprKind::kAdd ? std::ranges::all_of(e.operands(), is_small_term) : is_small_term(e);
  }

  std::unordered_set<Expr> seen_[2];  // as a part that may wrap, and as one that must be exact
};

}  // namespace

std::vector<Expr> computed_numbers(Expr value) {
  NumberFinder finder;
  finder.look_at(value, true);
  return std::move(finder.found);
}

std::vector<Expr> computed_numbers(const Kernel& kernel) {
  NumberFinder finder;
  for_each_statement(kernel.body, [&](const KernelStatement& s) {
    finder.look_at(s.offset, false);
    finder.look_at(s.instr.expr, true);
    if (s.kind == KernelOp::kLoop) finder.look_at(s.loop->extent, false);
  });
  return std::move(finder.found);
}

}  // namespace litz
