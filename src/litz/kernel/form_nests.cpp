// form_nests: which consecutive members share one loop nest.
#include <algorithm>

#include "litz/kernel/kernel_plan.h"

namespace litz {
namespace {

bool same_axes(std::vector<Expr> a, std::vector<Expr> b) {
  if (a.size() != b.size()) return false;
  return std::ranges::all_of(a, [&](Expr axis) { return std::ranges::find(b, axis) != b.end(); });
}

std::vector<Expr> local_axes(const PlannedMember& member) {
  std::vector<Expr> axes = member.kept;
  axes.insert(axes.end(), member.reduced.begin(), member.reduced.end());
  return axes;
}

/// A scan also where its axes have one element: it starts anew in every row.
bool accumulates(const PlannedMember& member) {
  return !member.reduced.empty() || member.kind == OperationKind::kReduction || member.kind == OperationKind::kScan;
}

bool can_join(const PlannedMember& member, const PlannedNest& nest) {
  const PlannedMember& first = *nest.members.front();
  if (!same_axes(local_axes(member), local_axes(first)) || member.lane_axis != first.lane_axis ||
      std::ranges::any_of(nest.members, [&](const PlannedMember* earlier) { return reads_behind_loops(member, *earlier); }))
    return false;
  if (!accumulates(member)) return true;
  return std::ranges::all_of(nest.members,
                             [&](const PlannedMember* m) { return !accumulates(*m) || same_axes(m->reduced, member.reduced); });
}

}  // namespace

bool reads_behind_loops(const PlannedMember& member, const PlannedMember& earlier) {
  for (size_t k = 0; k < member.body.instrs.size(); ++k) {
    const Instr& load = member.body.instrs[k];
    if (load.op != Op::kLoad) continue;
    for (const PlannedStore& store : earlier.stores) {
      const bool is_other_point = earlier.kind == OperationKind::kReduction || load.coordinates[0] != store.offset;
      if (store.buffer && store.memory == member.loads[k] && is_other_point) return true;
    }
  }
  return false;
}

void form_nests(KernelPlan& plan) {
  plan.nests.clear();
  for (PlannedMember& member : plan.members) {
    if (plan.nests.empty() || !can_join(member, plan.nests.back())) plan.nests.emplace_back();
    plan.nests.back().members.push_back(&member);
  }
  for (PlannedNest& nest : plan.nests) {
    const PlannedMember* shape = nest.members.front();
    for (const PlannedMember* m : nest.members) {
      if (accumulates(*m)) shape = m;
    }
    nest.axes = local_axes(*shape);
    nest.kept_count = shape->kept.size();
  }
}

}  // namespace litz
