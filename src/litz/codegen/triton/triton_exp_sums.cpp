// A maximum and then a sum of exp(value - maximum), each walking the same long row, as one loop: the row is read once. Values are gathered
// by the number that a thread loads at once, so that a maximum that grows costs one exp for all of them.
//
//   for r: max = greatest(max, f(r))                    for r: max, sum = lt.max_and_exp_sum_step(max, sum, f(r) in groups)
//   m = max over lanes                            =>    m = max over lanes
//   for r: sum = sum + exp(f(r) - m)
#include <algorithm>
#include <map>

#include "litz/codegen/triton/triton_writer.h"
#include "litz/kernel/tree_passes.h"

namespace litz {
namespace {

constexpr int64_t kBytesAtOnce = 16;

bool is_pure(const KernelStatement& s) {
  return s.kind == KernelOp::kLoad ||
         (s.kind == KernelOp::kCompute && s.instr.op != Op::kAssertTrue && s.instr.op != Op::kCheckIndex && s.instr.op != Op::kIndirect);
}

/// The update in which the body ends, with nothing but pure statements before it.
const KernelStatement* only_update(const KernelLoop& loop) {
  if (loop.body.empty() || loop.body.back().kind != KernelOp::kUpdate) return nullptr;
  const bool pure = std::all_of(loop.body.begin(), loop.body.end() - 1, is_pure);
  return pure ? &loop.body.back() : nullptr;
}

/// What the second loop adds, if it is exp(x - m) for the x of which the first takes the maximum.
bool adds_exp_of_difference(const KernelLoop& first, KernelValue x, const KernelLoop& second, KernelValue added, KernelValue m) {
  std::map<KernelValue, KernelValue> known;  // values of the second loop that the first has
  KernelValue difference = kNoKernelValue, exponential = kNoKernelValue;
  for (const KernelStatement& s : second.body) {
    if (s.kind == KernelOp::kUpdate) break;
    std::vector<KernelValue> operands = s.operands;
    for (KernelValue& v : operands)
      if (auto it = known.find(v); it != known.end()) v = it->second;
    auto same = std::ranges::find_if(
        first.body, [&](const KernelStatement& other) { return other.operands == operands && same_but_for_operands(other, s); });
    if (same != first.body.end()) known[s.result] = same->result;
    else if (s.instr.op == Op::kSub && operands == std::vector{x, m}) difference = s.result;
    else if (s.instr.op == Op::kExp && operands[0] == difference) exponential = s.result;
    else return false;
  }
  return exponential != kNoKernelValue && exponential == added;
}

}  // namespace

void TritonWriter::find_exp_sums(const std::vector<KernelStatement>& body) {
  for (const KernelStatement& s : body)
    if (s.kind == KernelOp::kLoop) find_exp_sums(s.loop->body);
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i].kind != KernelOp::kLoop) continue;
    const KernelLoop& first = *body[i].loop;
    const KernelStatement* maximum = only_update(first);
    if (!maximum || !can_gather(first, maximum->accumulator, ReductionKind::kMax)) continue;
    KernelValue m = kNoKernelValue;
    for (size_t k = i + 1; k < body.size(); ++k) {
      if (body[k].kind == KernelOp::kFinish && body[k].accumulator == maximum->accumulator) m = body[k].result;
      if (body[k].kind != KernelOp::kLoop) continue;
      const KernelLoop& second = *body[k].loop;
      const KernelStatement* sum = only_update(second);
      if (sum && m != kNoKernelValue && second.axis == first.axis && second.step == first.step &&
          can_gather(second, sum->accumulator, ReductionKind::kSum) &&
          adds_exp_of_difference(first, maximum->operands[0], second, sum->operands[0], m))
        exp_sums_.push_back({&first, &second, maximum->accumulator, sum->accumulator, m, maximum->operands[0], values_at_once(first)});
      break;  // what the loop between them stores may be what the second reads
    }
  }
}

bool TritonWriter::can_gather(const KernelLoop& loop, int accumulator, ReductionKind kind) const {
  const Accumulator& a = kernel_.accumulators[accumulator];
  return !kernel_.is_strict && !tile_ && loop.has_lanes && !loop.is_whole && !loop.is_parallel && a.kind == kind && !a.is_scan &&
         a.dtype == DType::kFloat32 && a.lanes.size() == 1 && a.lanes[0] == &loop && dimension_.at(&loop) == rank_ - 1 &&
         loop.step.integer() >= 512 && values_at_once(loop) > 1;
}

/// How many neighbours along the loop a thread loads at once.
int64_t TritonWriter::values_at_once(const KernelLoop& loop) const {
  int64_t bytes = kBytesAtOnce;
  for (const KernelStatement& s : loop.body)
    if (s.kind == KernelOp::kLoad && depends_on(s.offset, loop.axis)) bytes = std::min<int64_t>(bytes, dtype_bytes(s.instr.dtype));
  return kBytesAtOnce / bytes;
}

const TritonWriter::ExpSum* TritonWriter::exp_sum_of(int accumulator) const {
  auto it = std::ranges::find_if(exp_sums_, [&](const ExpSum& e) { return e.maximum == accumulator || e.sum == accumulator; });
  return it == exp_sums_.end() ? nullptr : &*it;
}

void TritonWriter::write_exp_sum_update(const ExpSum& e) {
  const std::string& m = kernel_.accumulators[e.maximum].name;
  const std::string& s = kernel_.accumulators[e.sum].name;
  const std::string mask = mask_of({e.first});
  std::string value = operand(e.value);
  if (!mask.empty()) value = fmt::format("tl.where({}, {}, float(\"-inf\"))", mask, value);
  value = fmt::format("tl.broadcast_to({}, {})", value, shape_of(kernel_.accumulators[e.maximum], e.maximum, 1, ""));
  line("{0}, {1} = lt.max_and_exp_sum_step({0}, {1}, tl.reshape({2}, {3}))", m, s, value,
       shape_of(kernel_.accumulators[e.maximum], e.maximum, e.at_once, fmt::format("{}", e.at_once)));
}

}  // namespace litz
