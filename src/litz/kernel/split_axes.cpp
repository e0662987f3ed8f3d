// split_axes: reshapes that the schedule could not undo leave i // k and i % k in offsets. With i = io * k + ii they vanish, and
// each of the two axes has a plain stride.
#include <algorithm>

#include "litz/kernel/kernel_plan.h"

namespace litz {
namespace {

/// Divisors k of axis // k and axis % k inside the expression.
void collect_divisors(Expr expr, Expr axis, std::vector<Expr>& out) {
  if (expr.kind() == ExprKind::kFloorDiv || expr.kind() == ExprKind::kMod) {
    if (expr.operands()[0] == axis && std::ranges::find(out, expr.operands()[1]) == out.end()) out.push_back(expr.operands()[1]);
  }
  for (Expr operand : expr.operands()) collect_divisors(operand, axis, out);
}

/// Loops whose lanes a store wants keep their length when the pieces would be shorter than a vector.
bool is_unit_stride_of_a_store(KernelPlan& plan, Expr axis) {
  for (const PlannedMember& member : plan.members) {
    for (const PlannedStore& store : member.stores) {
      if (!store.buffer) continue;
      Expr c = coefficient_of(store.offset, axis);
      if (c && c.is_integer(1)) return true;
    }
  }
  return false;
}

Expr divisor_to_split(KernelPlan& plan, Expr axis) {
  std::vector<Expr> divisors;
  for_each_expr(plan, [&](Expr& e) { collect_divisors(e, axis, divisors); });
  Expr best;
  for (Expr k : divisors) {
    if (k.is_integer(1) || k == axis.extent() || !mod(axis.extent(), k).is_integer(0)) continue;
    if (std::ranges::any_of(free_symbols(k), [](Expr s) { return s.symbol_kind() == SymbolKind::kAxis; })) continue;
    if (estimate(k) < 8 && is_unit_stride_of_a_store(plan, axis)) continue;
    if (!best || estimate(k) < estimate(best)) best = k;
  }
  return best;
}

void replace_axis(std::vector<Expr>& axes, Expr axis, Expr outer, Expr inner) {
  auto at = std::ranges::find(axes, axis);
  if (at == axes.end()) return;
  *at = inner;
  axes.insert(std::ranges::find(axes, inner), outer);
}

}  // namespace

std::pair<Expr, Expr> split_axis(KernelPlan& plan, Expr axis, Expr k) {
  ExprContext& context = *plan.context;
  std::string name(axis.symbol_name());
  Expr outer = context.axis(name + "o", floor_div(axis.extent(), k));
  Expr inner = context.axis(name + "i", k);
  substitute_axes(plan, {{axis, outer * k + inner}});
  replace_axis(plan.axes, axis, outer, inner);
  replace_axis(plan.serial_axes, axis, outer, inner);
  for (PlannedMember& member : plan.members) {
    replace_axis(member.kept, axis, outer, inner);
    replace_axis(member.reduced, axis, outer, inner);
  }
  return {outer, inner};
}

namespace {

bool is_scanned(const KernelPlan& plan, Expr axis) {
  return std::ranges::any_of(plan.members, [&](const PlannedMember& m) {
    return m.kind == OperationKind::kScan && std::ranges::find(m.reduced, axis) != m.reduced.end();
  });
}

std::vector<Expr> all_axes(const KernelPlan& plan) {
  std::vector<Expr> axes = plan.axes;
  auto add = [&](const std::vector<Expr>& more) {
    for (Expr a : more) {
      if (std::ranges::find(axes, a) == axes.end()) axes.push_back(a);
    }
  };
  for (const PlannedMember& member : plan.members) {
    add(member.kept);
    add(member.reduced);
  }
  return axes;
}

}  // namespace

void split_axes(KernelPlan& plan) {
  constexpr int kRounds = 16;  // each splits one axis; longer chains stay divisions
  for (int round = 0; round < kRounds; ++round) {
    bool changed = false;
    for (Expr axis : all_axes(plan)) {
      if (is_scanned(plan, axis)) continue;
      Expr k = divisor_to_split(plan, axis);
      if (!k) continue;
      split_axis(plan, axis, k);
      changed = true;
      break;
    }
    if (!changed) return;
  }
}

}  // namespace litz
