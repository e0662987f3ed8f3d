#pragma once
// What build_kernel works on between the fused group and the tree: the members with linear offsets over the group's axes. Steps
// rewrite axes (split, merge, order, lanes) by substitution in every expression of the plan; the tree is emitted at the end.
#include <functional>
#include <span>

#include "litz/kernel/kernel.h"
#include "litz/symbolic/size_hint.h"

namespace litz {

struct PlannedStore {
  Buffer* buffer = nullptr;
  Memory memory;
  Expr offset;
  ScatterMode mode = ScatterMode::kStore;
};

struct PlannedMember {
  const Operation* operation = nullptr;
  OperationKind kind = OperationKind::kPointwise;
  ReductionKind reduction = ReductionKind::kSum;
  DType accumulate = DType::kFloat32;
  std::vector<Expr> kept;            // local axes over which results differ, outermost first
  std::vector<Expr> reduced;         // local axes that are reduced or scanned
  Body body;                         // legal numerics; a load has one coordinate: its offset
  std::vector<Memory> loads;         // per instruction: where a load reads
  std::vector<PlannedStore> stores;  // per output; without a buffer: nobody reads it
  Expr lane_axis;                    // of `kept`: the loop that must have the lanes; null: order_axes chooses
};

/// Consecutive members that run in one loop nest inside an outer iteration.
struct PlannedNest {
  std::vector<PlannedMember*> members;
  std::vector<Expr> axes;  // loops, outermost first: kept ones, then reduced ones
  size_t kept_count = 0;   // of reductions and scans; without any: all
  Expr lane_axis;          // the loop with lanes, or null
  int step = 1;            // its values per iteration
};

struct KernelPlan {
  const FusedGroup* group = nullptr;
  const Schedule* schedule = nullptr;
  const TargetFacts* facts = nullptr;
  ExprContext* context = nullptr;
  KernelOptions options;
  std::vector<Expr> axes;  // outer loops, outermost first
  /// Outer loops that may not be shared out among threads: along them a scatter may meet the same element again.
  std::vector<Expr> serial_axes;
  std::vector<PlannedMember> members;
  std::vector<KernelParameter> parameters;
  std::vector<KernelScratch> scratch;
  std::vector<std::unique_ptr<Buffer>> temporaries;  // that steps make: scratch without a buffer of the program
  std::vector<PlannedNest> nests;                    // from form_nests on
  /// The outer axis that has lanes (then it is the last of `axes`), or null: then each nest has lanes of its own.
  Expr outer_lane_axis;
  int outer_step = 1;
  /// Targets of blocks: the outer axes of which a program takes a block, and the block's size along each.
  std::vector<std::pair<Expr, int>> blocks;
  /// Targets of blocks: the local axis of all members, if the block holds it whole; the nests then have no loops of their own.
  Expr whole_axis;
  int whole_step = 1;
};

/// Calls visit on every expression that depends on axes: offsets, index values, check extents.
void for_each_expr(PlannedMember& member, const std::function<void(Expr&)>& visit);
void for_each_expr(KernelPlan& plan, const std::function<void(Expr&)>& visit);
void substitute_axes(KernelPlan& plan, const Substitution& map);

/// Coefficient of the axis if the expression is affine in it; null otherwise.
Expr coefficient_of(Expr expr, Expr axis);
/// A likely value, for heuristics alone.
inline int64_t estimate(Expr expr) { return size_hint(expr, 64); }

/// Whether the member, in the loops of an earlier one, would read what that one stores behind them (a reduction) or at other points.
bool reads_behind_loops(const PlannedMember& member, const PlannedMember& earlier);

// The steps, in order.
KernelPlan plan_members(const FusedGroup& group, const Schedule& schedule, const Target& target, const KernelOptions& options);
/// Comparisons of index expressions become index expressions of truth values.
void fold_index_comparisons(KernelPlan& plan);
/// Welford -> sum, then sum of squared differences from the mean, where reading the row twice is cheaper.
void split_welford(KernelPlan& plan);
/// A member that walks its local axes as the one before it does takes that one's loops.
void share_local_axes(KernelPlan& plan);
/// An axis used through i // k or i % k becomes two axes, so that the divisions vanish.
void split_axes(KernelPlan& plan);
/// Two axes that every access walks as one become one.
void merge_axes(KernelPlan& plan);
/// The axis becomes outer * k + inner in every expression, and the two loops (outer, inner) wherever it is one; k divides its extent.
std::pair<Expr, Expr> split_axis(KernelPlan& plan, Expr axis, Expr k);
/// A local loop with larger steps through memory than the outer axes moves outwards, in blocks that the cache holds.
void block_local_axes(KernelPlan& plan);
/// Pointwise groups that read along one axis and write along another work on tiles of both.
void tile_transposes(KernelPlan& plan);
/// Consecutive members with the same local axes share one nest, unless one needs the finished result of another.
void form_nests(KernelPlan& plan);
/// Chooses the axes with lanes, how many, and orders the loops by strides.
void order_axes(KernelPlan& plan);
/// Larger for loops that should be further out.
double stride_score(const KernelPlan& plan, Expr axis);
/// Targets of blocks, instead of tile_transposes, form_nests and order_axes: which block a program takes.
void map_blocks(KernelPlan& plan);
std::unique_ptr<Kernel> emit_tree(KernelPlan& plan);

}  // namespace litz
