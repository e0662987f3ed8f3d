#pragma once
// Kernel IR: one fused group as a tree of loops over linear memory. What a group says about coordinates, layouts and order is
// settled here once, for every code generator: a generator only spells the tree.
//
// Semantics. A Loop runs its body for each value of its axis, in order, unless it is parallel (any order, any thread). A loop with
// lanes handles `step` consecutive values at once: each value computed inside varies over the lanes or is uniform; iterations
// past the extent are masked (loads give the identity that the use needs, stores do nothing). Values are SSA and visible in the
// rest of their body and in loops nested in it. Accumulators are the only mutable state besides memory.
#include <cstdint>
#include <memory>
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
  Expr number;               // kNumber: a size symbol or expression of the call
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

/// Where a load or store goes: a parameter or a scratch.
struct Memory {
  bool is_scratch = false;
  int index = 0;
};

struct Accumulator {
  std::string name;
  ReductionKind kind = ReductionKind::kSum;
  DType dtype = DType::kFloat32;        // of the combined value
  int values = 1;                       // welford: 3 (mean, m2, weight); with index: 2
  std::vector<const KernelLoop*> lanes; // lane loops over which partial results are kept apart until finish
};

struct KernelStatement {
  KernelOp kind;
  KernelValue result = kNoKernelValue;   // kFinish of several values: result, result + 1, ...
  Instr instr;                           // kCompute, kLoad (dtype, number of the other value): op, dtype, attributes
  std::vector<KernelValue> operands;     // kCompute: as the op's; kLoad: [predicate]; kStore: value, [predicate]; kUpdate: values, [predicate]
  Memory memory;                         // kLoad, kStore
  Expr offset;                           // kLoad, kStore: elements
  ScatterMode mode = ScatterMode::kStore;  // kStore
  int accumulator = -1;                  // kInit, kUpdate, kFinish
  std::unique_ptr<KernelLoop> loop;      // kLoop
  const Operation* source = nullptr;     // for comments
};

struct KernelLoop {
  Expr axis;
  Expr extent;
  /// Values per iteration. 1: plain. An integer: vector lanes. A symbol: a block size that the launcher or a heuristic gives.
  Expr step;
  bool is_parallel = false;
  bool has_lanes = false;
  std::vector<KernelStatement> body;
};

struct KernelValueInfo {
  DType dtype = DType::kFloat32;
  std::vector<const KernelLoop*> varies;  // lane loops over which the value differs, outermost first; none: uniform
};

struct Kernel {
  std::string name;
  std::vector<KernelParameter> parameters;
  std::vector<KernelScratch> scratch;
  std::vector<Accumulator> accumulators;
  std::vector<KernelValueInfo> values;
  std::vector<KernelStatement> body;  // the parallel loops outermost
  /// Independent pieces of work (iterations of the collapsed parallel loops) and how many are worth a thread.
  Expr range, grain;
  bool narrow_indices = false;  // every offset provably fits int32
  const FusedGroup* group = nullptr;
};

/// FusedGroup -> Kernel: loops, accumulators, linear offsets; then the passes of kernel/ (legalize_numerics, ...) in pipeline order.
std::unique_ptr<Kernel> build_kernel(const FusedGroup& group, const Schedule& schedule, const Target& target);
void verify(const Kernel& kernel);
std::string to_text(const Kernel& kernel);

}  // namespace litz
