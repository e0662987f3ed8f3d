#pragma once
// What scheduling gives: an ordered list of groups. A group becomes one kernel (or one extern call). Its members are operations of
// the loop IR whose axes have been mapped onto shared loops: `axes` are the group's outer loops, of which every iteration is
// independent of the others (they may run in parallel, in any order); a member's remaining axes are its own `local_axes`, loops
// inside one iteration of the outer ones (the reduced axes of a reduction, the row of a normalisation's consumer).
//
// Invariant: what a member reads of another member's output at one point of `axes`, that member has written at the same point,
// in an earlier loop over its local axes, or in the same loop at the same local point.
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "litz/loop/program.h"
#include "litz/target/target.h"

namespace litz {

struct GroupMember {
  Operation* operation = nullptr;
  /// operation->axes[i] as an expression over the group's axes and local_axes.
  std::vector<Expr> axis_map;
  /// Loops of this member inside one outer iteration, outermost first. Members next to each other with pointer-equal local_axes
  /// share one loop nest. For a reduction these include the reduced axes (all of its axes that axis_map does not give to `axes`).
  std::vector<Expr> local_axes;
};

enum class GroupKind : uint8_t { kLoops, kExtern };

struct FusedGroup {
  int id = 0;
  GroupKind kind = GroupKind::kLoops;
  std::string name;                  // "fused_native_layer_norm_add_0": stable, from the source ops
  std::vector<Expr> axes;            // outermost first
  std::vector<GroupMember> members;  // in execution order
  /// Outputs of members that nobody outside the group reads: registers where each read is in the producing loop nest at the same point,
  /// otherwise scratch of one outer iteration.
  std::vector<Buffer*> internal_buffers;
};

/// A decision against fusing or inlining, with the numbers that led to it: litz.explain prints it.
struct Refusal {
  std::string pass, first, second, reason;
};

struct Schedule {
  LoopProgram* program = nullptr;
  std::vector<std::unique_ptr<FusedGroup>> groups;  // in execution order
  /// Buffers that share storage: key lives in value's storage from its definition on (reuse in place, versions of an input).
  std::unordered_map<const Buffer*, Buffer*> storage_of;
  std::vector<Refusal> refusals;

  /// The buffer in whose storage this one lives in the end: itself, if it shares none. Views (their layout's base) are not followed.
  const Buffer* shared_storage(const Buffer* buffer) const;
  Buffer* shared_storage(Buffer* buffer) const { return const_cast<Buffer*>(shared_storage(static_cast<const Buffer*>(buffer))); }
};

std::string to_text(const Schedule& schedule);
void verify(const Schedule& schedule);

}  // namespace litz
