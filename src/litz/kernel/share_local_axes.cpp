// share_local_axes: a member that walks a row as the member before it does takes that member's loops, so that both run in one nest and
// what the first stores is a value to the second.
//
//   exp { e[i] = f(x[i]) } for i1;  sum { yield e[r] } for r0   ->   both for i1: the sum takes e's value from the register
#include <algorithm>

#include "litz/kernel/kernel_plan.h"

namespace litz {
namespace {

std::vector<Expr> local_axes(const PlannedMember& member) {
  std::vector<Expr> axes = member.kept;
  axes.insert(axes.end(), member.reduced.begin(), member.reduced.end());
  return axes;
}

bool same_extents(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](Expr x, Expr y) { return x.extent() == y.extent(); });
}

/// Stores of reductions happen behind their loops.
bool stores_inside(const PlannedMember& member) { return member.kind != OperationKind::kReduction; }

/// Both in one loop: nothing that one writes is touched by the other at another point, or after the loop.
bool may_share(const PlannedMember& first, const PlannedMember& second) {
  if (reads_behind_loops(second, first)) return false;
  for (const PlannedStore& store : first.stores) {
    if (!store.buffer) continue;
    for (const PlannedStore& other : second.stores) {
      if (other.buffer && other.memory == store.memory && other.offset != store.offset) return false;
    }
  }
  for (const PlannedStore& store : second.stores) {
    if (!store.buffer || !stores_inside(second)) continue;
    for (size_t k = 0; k < first.body.instrs.size(); ++k) {
      const Instr& load = first.body.instrs[k];
      if (load.op == Op::kLoad && first.loads[k] == store.memory && load.coordinates[0] != store.offset) return false;
    }
  }
  return true;
}

/// Some element is touched by both at the same point.
bool has_common_access(const PlannedMember& first, const PlannedMember& second) {
  for (size_t k = 0; k < second.body.instrs.size(); ++k) {
    const Instr& load = second.body.instrs[k];
    if (load.op != Op::kLoad) continue;
    for (const PlannedStore& store : first.stores) {
      if (store.buffer && stores_inside(first) && second.loads[k] == store.memory && load.coordinates[0] == store.offset) return true;
    }
    for (size_t i = 0; i < first.body.instrs.size(); ++i) {
      const Instr& other = first.body.instrs[i];
      if (other.op == Op::kLoad && first.loads[i] == second.loads[k] && other.coordinates[0] == load.coordinates[0]) return true;
    }
  }
  return false;
}

bool is_shareable(const PlannedMember& member) {
  return (member.kind == OperationKind::kPointwise || member.kind == OperationKind::kReduction) && !local_axes(member).empty();
}

PlannedMember on_axes_of(const PlannedMember& member, const PlannedMember& other) {
  PlannedMember moved = member;
  const std::vector<Expr> from = local_axes(member), to = local_axes(other);
  Substitution map;
  for (size_t k = 0; k < from.size(); ++k) map.emplace_back(from[k], to[k]);
  for_each_expr(moved, [&](Expr& e) { e = substitute(e, map); });
  for (Expr& axis : moved.kept) axis = substitute(axis, map);
  for (Expr& axis : moved.reduced) axis = substitute(axis, map);
  return moved;
}

}  // namespace

void share_local_axes(KernelPlan& plan) {
  size_t start = 0;  // of the members that share the loops so far
  for (size_t k = 1; k < plan.members.size(); ++k) {
    PlannedMember& member = plan.members[k];
    const PlannedMember& last = plan.members[k - 1];
    const std::vector<Expr> axes = local_axes(member);
    const bool already = axes == local_axes(last);
    if (!already) {
      start = is_shareable(member) && is_shareable(last) && same_extents(axes, local_axes(last)) ? start : k;
      if (start == k) continue;
      PlannedMember moved = on_axes_of(member, last);
      bool possible = true, common = false;
      for (size_t i = start; i < k; ++i) {
        possible &= may_share(plan.members[i], moved);
        common |= has_common_access(plan.members[i], moved);
      }
      if (possible && common) member = std::move(moved);
      else start = k;
    }
  }
}

}  // namespace litz
