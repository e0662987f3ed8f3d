// block_local_axes: a group whose outer axis is the one that lies densely in memory (channels of a channels-last tensor, fused with
// their per-channel factors) would walk memory with large steps. Its local loop moves outwards, in blocks that the cache holds:
//
//   for c: factor = rsqrt(var[c]); for p in 0..12544: y[p*64 + c] = ...
//   ->  for po in 0..196: for c: factor = rsqrt(var[c]); for pi in 0..64: y[po*4096 + pi*64 + c] = ...
//
// The factors are computed anew for each block. Only pointwise members: they give the same value however often they run.
#include <algorithm>

#include "litz/kernel/kernel_plan.h"

namespace litz {
namespace {

bool contains(std::span<const Expr> axes, Expr axis) { return std::ranges::find(axes, axis) != axes.end(); }

/// Bytes that the members touch in one step of the axis, all other axes walked whole.
int64_t bytes_of_a_step(const KernelPlan& plan, Expr axis) {
  int64_t bytes = 0;
  for (const PlannedMember& member : plan.members) {
    int64_t points = 1;
    for (Expr a : plan.axes) points *= std::max<int64_t>(1, estimate(a.extent()));
    for (Expr a : member.kept)
      if (a != axis) points *= std::max<int64_t>(1, estimate(a.extent()));
    auto touches = [&](Expr offset) {
      Expr c = coefficient_of(offset, axis);
      return !c || !c.is_integer(0);
    };
    for (const Instr& i : member.body.instrs)
      if (i.op == Op::kLoad && touches(i.coordinates[0])) bytes += points * dtype_bytes(i.dtype);
    for (const PlannedStore& s : member.stores)
      if (s.buffer && touches(s.offset)) bytes += points * dtype_bytes(s.buffer->dtype);
  }
  return std::max<int64_t>(1, bytes);
}

/// The largest divisor of the extent that is no larger than `most`; 1 for an extent that only the call knows.
int64_t block_of(Expr extent, int64_t most) {
  if (!extent.is_integer()) return 1;
  int64_t block = std::clamp<int64_t>(most, 1, extent.integer());
  while (extent.integer() % block != 0) --block;
  return block;
}

}  // namespace

void block_local_axes(KernelPlan& plan) {
  constexpr int64_t kLongestBlock = 64;
  if (plan.axes.empty() || !plan.serial_axes.empty()) return;
  Expr axis;
  for (const PlannedMember& member : plan.members) {
    if (member.kind != OperationKind::kPointwise || member.lane_axis) return;
    for (Expr a : member.kept)
      if (!axis || stride_score(plan, a) > stride_score(plan, axis)) axis = a;
  }
  if (!axis) return;
  for (const PlannedMember& member : plan.members) {
    if (contains(member.kept, axis)) continue;
    if (!member.kept.empty()) return;  // its loop would run again for each block
    if (std::ranges::any_of(member.stores, [](const PlannedStore& s) { return s.buffer && !s.memory.is_scratch; }))
      return;  // it would be written by several threads
  }
  const bool walks_far = std::ranges::any_of(plan.axes, [&](Expr a) { return stride_score(plan, a) < stride_score(plan, axis); });
  if (!walks_far) return;
  const int64_t most = std::min(kLongestBlock, plan.facts->l2_bytes / 4 / bytes_of_a_step(plan, axis));
  const int64_t block = block_of(axis.extent(), most);
  if (axis.extent().is_integer(block)) return;  // the cache holds all of it
  const Expr outer = block > 1 ? split_axis(plan, axis, plan.context->integer(block)).first : axis;
  for (PlannedMember& member : plan.members) std::erase(member.kept, outer);
  plan.axes.insert(plan.axes.begin(), outer);
}

}  // namespace litz
