#pragma once
// Kernel IR: one fused group as a tree of loops over linear memory. What a group says about coordinates, layouts and order is
// settled here once, for every code generator: a generator only spells the tree.
//
// Semantics. A Loop runs its body for each value of its axis, in order, unless it is parallel (any order, any thread). A loop with
// lanes handles `step` consecutive values at once: each value computed inside varies over the lanes or is uniform; iterations
// past the extent are masked (loads give the identity that the use needs, stores do nothing, checks do not fail). Values are SSA
// and visible in the rest of their body and in loops nested in it. Accumulators are the only mutable state besides memory.
// A parallel loop of the kernel's body, and what stands behind the last one, which runs once, begin when all before them has ended, in
// whatever thread: the phases of a kernel (TargetFacts::knows_last_program, runs_programs_together).
//
// Numerics are legal: a value of a narrow float type (bf16, f16, f8) exists only between a load or a cast and the cast that
// widens it; everything else is computed in float32.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "litz/loop/program.h"
#include "litz/schedule/fused_group.h"
#include "litz/target/target.h"

namespace litz {

struct KernelLoop;

/// A pointer or number that the kernel is called with.
struct KernelParameter {
  enum Kind : uint8_t { kInput, kOutput, kInOut, kNumber } kind = kInput;
  std::string name;
  Buffer* buffer = nullptr;  // tensors: the storage's representative; pointer to its first element with the buffer's offset applied
  DType dtype = DType::kFloat32;
  Expr number;  // kNumber: a size symbol of the call, or what is computed from such before the call
};

/// An operation of the program that the kernel computes, for whoever reads the kernel.
struct KernelOrigin {
  std::string name;
  std::string note;  // the ops that it came from and the user's lines; may be empty
};

/// Memory private to one iteration of the parallel loops (of one thread at a time).
struct KernelScratch {
  std::string name;
  DType dtype = DType::kFloat32;
  Expr elements;
  Buffer* buffer = nullptr;
};

using KernelValue = int32_t;
constexpr KernelValue kNoKernelValue = -1;

enum class KernelOp : uint8_t {
#define LITZ_KERNEL_OP(name, Enumerator, meaning) k##Enumerator,
#include "litz/kernel/ops.def"
#undef LITZ_KERNEL_OP
};
std::string_view kernel_op_name(KernelOp op);

/// Where a load or store goes: a parameter or a scratch.
struct Memory {
  bool is_scratch = false;
  int index = -1;
  friend bool operator==(const Memory&, const Memory&) = default;
};

struct Accumulator {
  std::string name;
  ReductionKind kind = ReductionKind::kSum;
  DType dtype = DType::kFloat32;         // of the combined value
  DType index_dtype = DType::kInt64;     // of the index that kinds with an index carry
  bool is_scan = false;                  // finished after every update; over lanes each lane gets what has come together up to it
  std::vector<const KernelLoop*> lanes;  // lane loops between init and finish: partial results are kept apart over them until finish
};

struct KernelStatement {
  KernelOp kind = KernelOp::kCompute;
  KernelValue result = kNoKernelValue;  // kFinish of several values: result, result + 1, ...
  Instr instr;                          // kCompute, kLoad (dtype, number of the other value): op, dtype, attributes
  /// kCompute: as the op's, kNoKernelValue where absent; kLoad: [predicate]; kStore: value [predicate, of a scatter]; kUpdate: values.
  std::vector<KernelValue> operands;
  Memory memory;                           // kLoad, kStore
  Expr offset;                             // kLoad, kStore: elements
  ScatterMode mode = ScatterMode::kStore;  // kStore
  bool is_scatter = false;                 // kStore: what it does not meet stays, and it may meet an element again
  int accumulator = -1;                    // kInit, kUpdate, kFinish
  std::unique_ptr<KernelLoop> loop;        // kLoop
  int origin = -1;                         // index into Kernel::origins; -1 for loops
};

struct KernelLoop {
  Expr axis;
  Expr extent;
  /// Values per iteration. 1: plain. An integer: vector lanes. A symbol: a block size that the launcher or a heuristic gives.
  Expr step;
  /// has_lanes: a symbol in [0, step), the position inside the iteration; the iteration's first value of the axis is axis - lane.
  Expr lane;
  bool is_parallel = false;
  bool has_lanes = false;
  /// has_lanes: one iteration takes all values of the axis; accumulators over its lanes may then be finished inside.
  bool is_whole = false;
  /// Iterations after which the sums updated inside are moved to a second level, so that the rounding error of long sums stays
  /// small; 0: never.
  int cascade = 0;
  std::vector<KernelStatement> body;
};

/// Whether the extent is a known multiple of the step: the iterations of such a loop are all full, and there are some (a loop that takes
/// the whole axis at once is run even where the axis has no elements).
inline bool is_multiple(Expr extent, int64_t step) {
  const auto known = extent.as_integer();
  return known && *known > 0 && *known % step == 0;
}

struct KernelValueInfo {
  DType dtype = DType::kFloat32;
  std::vector<const KernelLoop*> varies;  // lane loops over which the value differs, outermost first; none: uniform
};

struct Kernel {
  std::shared_ptr<ExprContext> context;  // of its expressions
  std::string name;
  std::vector<KernelParameter> parameters;  // tensors, then numbers
  std::vector<KernelScratch> scratch;
  std::vector<Accumulator> accumulators;
  std::vector<KernelOrigin> origins;  // names differ
  std::vector<KernelValueInfo> values;
  /// The parallel loops outermost, each alone in the one around it but for hoisted statements before; then what runs once. In kernels of
  /// several phases more such loops, each with hoisted statements of its own.
  std::vector<KernelStatement> body;
  /// Some statement can fail (check_index, assert_true, integer division): the kernel is given a KernelError to report to.
  bool reports_errors = false;
  std::vector<std::string> assertions;  // messages of the assert_true statements, in tree order; the k-th reports kAssertion + k
  /// Independent pieces of work (iterations of the collapsed parallel loops; of several phases: programs that share out each) and how many
  /// are worth a thread.
  Expr range, grain;
  bool is_strict = false;                            // every op rounds as eager's
  bool narrow_indices = false;                       // every offset provably fits int32
  std::vector<std::unique_ptr<Buffer>> own_buffers;  // of parameters, where no program has them: the kernel was read from text
};

struct KernelOptions {
  bool strict_numerics = false;     // keep every rounding that eager makes between ops
  bool internal_in_memory = false;  // what members pass on goes through the program's buffers, not through scratch
};

/// FusedGroup -> Kernel: loops, accumulators, linear offsets; the steps are listed in build_kernel.cpp.
std::unique_ptr<Kernel> build_kernel(const FusedGroup& group, const Schedule& schedule, const Target& target,
                                     const KernelOptions& options = {});
void verify(const Kernel& kernel);
/// Each parallel loop of the kernel's body with the statements before it. Without any such loop: the whole body.
std::vector<std::span<const KernelStatement>> grid_phases(const Kernel& kernel);
/// What stands in the kernel's body behind the last parallel loop; of a kernel without one: nothing.
std::span<const KernelStatement> statements_behind(const Kernel& kernel);
/// Complete: parse_kernels gives a kernel from which every code generator makes the same source.
std::string to_text(const Kernel& kernel);
/// The kernels of a text, verified. UserError with line and column where the text is none.
std::vector<std::unique_ptr<Kernel>> parse_kernels(std::string_view text);
/// "f32[s0, 768]", of a tensor.
std::string shape_text(const KernelParameter& parameter);
/// "<4x16>": the steps of the loops over whose lanes the value varies; "" if it is uniform.
std::string lanes_text(const KernelValueInfo& value);

/// Bytes of memory that each thread must be given; null: none (a small scratch of known size is on the stack).
Expr scratch_bytes(const Kernel& kernel);
/// Where a scratch begins in that memory.
Expr scratch_offset(const Kernel& kernel, int scratch);
constexpr int64_t kScratchAlignment = 64;

/// How many values an update takes and a finish gives (those of reduction_traits).
int accumulator_inputs(const Accumulator& accumulator);
int accumulator_outputs(const Accumulator& accumulator);
DType accumulator_result_type(const Accumulator& accumulator, int output);

}  // namespace litz
