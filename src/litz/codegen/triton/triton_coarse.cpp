// Kernels whose results are all narrow floats may be computed coarsely: in float32, within a few ulp of it.
#include <algorithm>

#include "litz/codegen/triton/triton_writer.h"
#include "litz/kernel/tree_passes.h"

namespace litz {
namespace {

/// Ops that make a step of a small difference.
bool is_step(const Kernel& kernel, const KernelStatement& s) {
  if (s.kind != KernelOp::kCompute) return false;
  switch (s.instr.op) {
    case Op::kCast:
    case Op::kCastKept: return !is_floating(s.instr.dtype) && is_floating(kernel.values[s.operands[0]].dtype);
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kRound:
    case Op::kFloorDiv:
    case Op::kFmod:
    case Op::kRemainder:
    case Op::kSign: return true;
    default: return false;
  }
}

/// All results are narrow floats, and nothing on the way depends on the last bits of float32.
bool is_coarse(const Kernel& kernel) {
  if (kernel.is_strict) return false;
  for (const KernelParameter& p : kernel.parameters) {
    if (p.kind == KernelParameter::kInput || p.kind == KernelParameter::kNumber) continue;
    if (!is_floating(p.dtype) || dtype_bytes(p.dtype) > 2) return false;
  }
  bool steps = false;
  for_each_statement(kernel.body, [&](const KernelStatement& s) { steps |= is_step(kernel, s); });
  return !steps;
}

}  // namespace

/// 1 + erf(x) and 1 + tanh(x), as in gelu, need no care near 0: half of the arithmetic, and no cancellation where they come close to 0.
void TritonWriter::find_coarse() {
  is_coarse_ = is_coarse(kernel_);
  if (!is_coarse_) return;
  std::vector<const KernelStatement*> definition(kernel_.values.size());
  std::vector<int> uses(kernel_.values.size());
  for_each_statement(kernel_.body, [&](const KernelStatement& s) {
    if (s.kind == KernelOp::kCompute) definition[s.result] = &s;
    for (KernelValue v : s.operands)
      if (v != kNoKernelValue) ++uses[v];
  });
  auto is = [&](KernelValue v, Op op) { return definition[v] && definition[v]->instr.op == op; };
  std::unordered_map<KernelValue, std::vector<KernelValue>> sums;  // of each curve; one with other uses is computed anyway
  for (const KernelStatement* s : definition) {
    if (!s || s->instr.op != Op::kAdd || kernel_.values[s->result].dtype != DType::kFloat32) continue;
    for (int k = 0; k < 2; ++k) {
      const KernelValue curve = s->operands[k], one = s->operands[1 - k];
      if (!is(curve, Op::kErf) && !is(curve, Op::kTanh)) continue;
      if (!is(one, Op::kConstant) || definition[one]->instr.number.as_double() != 1) continue;
      sums[curve].push_back(s->result);
    }
  }
  for (const auto& [curve, results] : sums) {
    if (static_cast<int>(results.size()) != uses[curve]) continue;
    is_unused_[curve] = true;
    for (KernelValue v : results) plus_one_[v] = definition[curve];
  }
}

}  // namespace litz
