// merge_axes: two loops over (i, j) become one over i * size(j) + j where every expression depends on them only through that sum.
#include <algorithm>

#include "litz/kernel/kernel_plan.h"

namespace litz {
namespace {

bool contains(const std::vector<Expr>& axes, Expr axis) { return std::ranges::find(axes, axis) != axes.end(); }

/// Every expression of the members that run inside both loops is affine with coefficient(i) = coefficient(j) * extent(j).
bool walks_as_one(PlannedMember& member, Expr i, Expr j) {
  bool one = true;
  const Expr pair[2] = {i, j};
  for_each_expr(member, [&](Expr& e) {
    if (!one || (!depends_on(e, i) && !depends_on(e, j))) return;
    auto form = linear_form(e, pair);
    one = form && form->coefficients[0] == form->coefficients[1] * j.extent();
  });
  return one;
}

bool can_merge_outer(KernelPlan& plan, Expr i, Expr j) {
  if (contains(plan.serial_axes, i) != contains(plan.serial_axes, j)) return false;
  return std::ranges::all_of(plan.members, [&](PlannedMember& m) { return walks_as_one(m, i, j); });
}

bool can_merge_local(KernelPlan& plan, Expr i, Expr j) {
  return std::ranges::all_of(plan.members, [&](PlannedMember& m) {
    const bool none = !contains(m.kept, i) && !contains(m.kept, j) && !contains(m.reduced, i) && !contains(m.reduced, j);
    if (none) return true;
    const bool together = (contains(m.kept, i) && contains(m.kept, j)) || (contains(m.reduced, i) && contains(m.reduced, j));
    return together && m.kind != OperationKind::kScan && walks_as_one(m, i, j);
  });
}

void replace_pair(std::vector<Expr>& axes, Expr i, Expr j, Expr merged) {
  auto at = std::ranges::find(axes, i);
  if (at == axes.end()) return;
  *at = merged;
  axes.erase(std::ranges::find(axes, j));
}

void merge(KernelPlan& plan, Expr i, Expr j) {
  std::string name(i.symbol_name());
  Expr merged = plan.context->axis(name, i.extent() * j.extent());
  substitute_axes(plan, {{i, plan.context->integer(0)}, {j, merged}});
  replace_pair(plan.axes, i, j, merged);
  replace_pair(plan.serial_axes, i, j, merged);
  for (PlannedMember& member : plan.members) {
    replace_pair(member.kept, i, j, merged);
    replace_pair(member.reduced, i, j, merged);
  }
}

template <typename CanMerge>
bool merge_some_pair(KernelPlan& plan, const std::vector<Expr>& axes, CanMerge can_merge) {
  for (Expr i : axes) {
    for (Expr j : axes) {
      if (i == j || !can_merge(plan, i, j)) continue;
      merge(plan, i, j);
      return true;
    }
  }
  return false;
}

}  // namespace

void merge_axes(KernelPlan& plan) {
  while (merge_some_pair(plan, plan.axes, can_merge_outer)) {}
  for (size_t k = 0; k < plan.members.size(); ++k) {
    while (merge_some_pair(plan, plan.members[k].kept, can_merge_local)) {}
    while (merge_some_pair(plan, plan.members[k].reduced, can_merge_local)) {}
  }
}

}  // namespace litz
