// FusedGroup -> Kernel: the steps in order.
#include <algorithm>

#include "litz/kernel/kernel.h"
#include "litz/kernel/kernel_plan.h"
#include "litz/kernel/product_tile.h"
#include "litz/kernel/tree_passes.h"

namespace litz {

namespace {

std::unique_ptr<Kernel> build_once(const FusedGroup& group, const Schedule& schedule, const Target& target, const KernelOptions& options,
                                   const ProductTile* tile = nullptr) {
  const bool is_grid = target.facts().execution == ExecutionModel::kGridOfBlocks;
  KernelPlan plan = plan_members(group, schedule, target, options);  // legal numerics, linear offsets
  if (!is_grid) fold_index_comparisons(plan);
  if (!tile) {
    if (!options.internal_in_memory) split_welford(plan);  // before axes change: it makes members of its own
    share_local_axes(plan);
    split_axes(plan);  // before merging: pieces of split axes may merge with others
    merge_axes(plan);
  }
  if (tile) {
    map_product(plan, *tile);
  } else if (is_grid) {
    map_blocks(plan);
  } else {
    block_local_axes(plan);
    tile_transposes(plan);
    form_nests(plan);
    order_axes(plan);
  }
  std::unique_ptr<Kernel> kernel = emit_tree(plan);  // hoists, finds common subexpressions, forwards stored values
  if (!is_grid) split_at_conditions(*kernel);
  for (KernelScratch& scratch : kernel->scratch) {
    const bool is_temporary = scratch.buffer && !scratch.buffer->definition;
    if (is_temporary) scratch.buffer = nullptr;
  }
  remove_dead(*kernel);
  number_values(*kernel);
  drop_unused_parameters(*kernel);
  annotate_lanes(*kernel);
  list_assertions(*kernel);
  narrow_indices(*kernel);
  kernel->is_strict = options.strict_numerics;
  verify(*kernel);
  return kernel;
}

}  // namespace

std::unique_ptr<Kernel> build_kernel(const FusedGroup& group, const Schedule& schedule, const Target& target,
                                     const KernelOptions& options) {
  std::unique_ptr<Kernel> kernel = build_once(group, schedule, target, options);
  if (target.facts().execution != ExecutionModel::kGridOfBlocks || kernel->scratch.empty()) return kernel;
  // Blocks have no scratch that another loop could read: rows that they cannot hold pass through memory.
  KernelOptions through_memory = options;
  through_memory.internal_in_memory = true;
  return build_once(group, schedule, target, through_memory);
}

std::unique_ptr<Kernel> build_product_kernel(const FusedGroup& group, const Schedule& schedule, const Target& target,
                                             const KernelOptions& options, const ProductTile& tile) {
  std::unique_ptr<Kernel> kernel = build_once(group, schedule, target, options, &tile);
  if (tile.programs) kernel->range = min(kernel->range, kernel->range.context().integer(tile.programs));
  return kernel;
}

std::vector<std::span<const KernelStatement>> grid_phases(const Kernel& kernel) {
  std::vector<std::span<const KernelStatement>> phases;
  size_t begin = 0;
  for (size_t k = 0; k < kernel.body.size(); ++k) {
    const KernelStatement& s = kernel.body[k];
    if (s.kind != KernelOp::kLoop || !s.loop->is_parallel) continue;
    phases.push_back(std::span(kernel.body).subspan(begin, k + 1 - begin));
    begin = k + 1;
  }
  if (phases.empty()) phases.emplace_back(kernel.body);
  return phases;
}

std::span<const KernelStatement> statements_behind(const Kernel& kernel) {
  size_t in_phases = 0;
  for (const auto& phase : grid_phases(kernel)) in_phases += phase.size();
  return std::span(kernel.body).subspan(in_phases);
}

int accumulator_inputs(const Accumulator& a) { return reduction_traits(a.kind).inputs; }
int accumulator_outputs(const Accumulator& a) {
  return a.is_scan && a.kind == ReductionKind::kLogSumExp ? 1 : reduction_traits(a.kind).outputs;
}

namespace {

constexpr int64_t kStackScratchBytes = 32 << 10;

Expr aligned_bytes(const KernelScratch& scratch) {
  return ceil_div(scratch.elements * dtype_bytes(scratch.dtype), kScratchAlignment) * kScratchAlignment;
}

}  // namespace

Expr scratch_offset(const Kernel& kernel, int scratch) {
  Expr bytes = kernel.scratch.at(0).elements.context().integer(0);
  for (int k = 0; k < scratch; ++k) bytes = bytes + aligned_bytes(kernel.scratch[k]);
  return bytes;
}

Expr scratch_bytes(const Kernel& kernel) {
  if (kernel.scratch.empty()) return Expr();
  Expr bytes = scratch_offset(kernel, static_cast<int>(kernel.scratch.size()));
  // A size with a small range may be a whole number of cache lines for all its values, and still be no number.
  const bool are_numbers =
      std::all_of(kernel.scratch.begin(), kernel.scratch.end(), [](const KernelScratch& s) { return s.elements.is_integer(); });
  return are_numbers && bytes.integer() <= kStackScratchBytes ? Expr() : bytes;
}

DType accumulator_result_type(const Accumulator& a, int output) {
  switch (a.kind) {
    case ReductionKind::kArgMin:
    case ReductionKind::kArgMax: return a.index_dtype;
    case ReductionKind::kMinWithIndex:
    case ReductionKind::kMaxWithIndex:
    case ReductionKind::kSort:
    case ReductionKind::kSortDescending: return output == 0 ? a.dtype : a.index_dtype;
    default: return a.dtype;
  }
}

}  // namespace litz
