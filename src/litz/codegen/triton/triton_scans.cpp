// Scans over lanes as Triton source: the running totals of a block by tl.associative_scan, after what the blocks before it came to.
//
//   sum0 = tl.full([XBLOCK, 1], 0.0, tl.float32)
//   for r0_start in range(0, 50257, R0BLOCK):
//       ...
//       sum0_run = sum0 + lt.scan_sum(v3, 1)
//       sum0 = lt.last(sum0_run, r0 == r0_start + R0BLOCK - 1, 1)
#include <string_view>

#include "litz/codegen/triton/triton_names.h"
#include "litz/codegen/triton/triton_writer.h"
#include "litz/support/check.h"

namespace litz {
namespace {

/// The parts of the state: suffixes of the accumulator's name.
std::vector<std::string_view> parts(const Accumulator& a) {
  switch (a.kind) {
    case ReductionKind::kMinWithIndex:
    case ReductionKind::kMaxWithIndex:
    case ReductionKind::kSort:
    case ReductionKind::kSortDescending: return {"", "_index"};
    case ReductionKind::kLogSumExp: return {"", "_sum"};
    default: return {""};
  }
}

/// "a, b": the parts of `name`.
std::string list(const Accumulator& a, std::string_view name) {
  std::string text;
  for (std::string_view part : parts(a)) text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name, part);
  return text;
}

}  // namespace

void TritonWriter::write_scan_init(const KernelStatement& s) {
  const Accumulator& a = kernel_.accumulators[s.accumulator];
  LITZ_CHECK(a.lanes.size() == 1, "{}: {} scans {} loops with lanes", kernel_.name, a.name, a.lanes.size());
  if (!has_carry(s.accumulator)) return;
  Accumulator carry = a;
  carry.lanes.clear();
  const std::string shape = shape_of(carry, s.accumulator);
  line("{} = tl.full({}, {}, {})", a.name, shape, identity(a), triton_type(a.dtype));
  if (a.kind == ReductionKind::kLogSumExp) line("{}_sum = tl.full({}, 0.0, {})", a.name, shape, triton_type(a.dtype));
  if (parts(a).back() == "_index") line("{}_index = tl.full({}, {}, {})", a.name, shape, no_index(a), triton_type(a.index_dtype));
}

void TritonWriter::write_scan_update(const KernelStatement& s) {
  const Accumulator& a = kernel_.accumulators[s.accumulator];
  const KernelLoop& loop = *a.lanes[0];
  const int dimension = dimension_.at(&loop);
  const std::string run = a.name + "_run", value = live(s, s.operands[0], identity(a), a.dtype, true);
  const bool carries = has_carry(s.accumulator);
  const std::string runs = list(a, run), all = list(a, a.name);
  switch (a.kind) {
    case ReductionKind::kSum:
    case ReductionKind::kProd: {
      const bool is_sum = a.kind == ReductionKind::kSum;
      line("{} = lt.{}({}, {})", run, is_sum ? "scan_sum" : "scan_product", value, dimension);
      if (carries) line("{0} = {1} {2} {0}", run, a.name, is_sum ? "+" : "*");
      break;
    }
    case ReductionKind::kMinWithIndex:
    case ReductionKind::kMaxWithIndex: {
      const bool is_minimum = a.kind == ReductionKind::kMinWithIndex;
      line("{} = lt.{}({}, {}, {})", runs, is_minimum ? "scan_minima" : "scan_maxima", value,
           live(s, s.operands[1], no_index(a), a.index_dtype, true), dimension);
      if (carries) line("{} = lt.{}({}, {})", runs, is_minimum ? "scan_min" : "scan_max", all, runs);
      break;
    }
    case ReductionKind::kLogSumExp:
      line("{} = lt.scan_log_sum_exp({}, {})", runs, value, dimension);
      if (carries) line("{} = lt.log_sum_exp_join({}, {})", runs, all, runs);
      break;
    case ReductionKind::kSort:
    case ReductionKind::kSortDescending:
      line("{} = lt.sort_rows({}, {}, {})", runs, value, live(s, s.operands[1], no_index(a), a.index_dtype, true),
           a.kind == ReductionKind::kSort ? "False" : "True");
      break;
    default: LITZ_CHECK(false, "{}: no scan of {} over lanes", kernel_.name, reduction_name(a.kind));
  }
  if (!carries) return;
  const std::string& name = names_.at(&loop);
  const std::string end = fmt::format("{} == {}{} - 1", name, loop.is_whole ? "" : name + "_start + ", block_name(loop));
  for (std::string_view part : parts(a)) line("{0}{1} = lt.last({2}{1}, {3}, {4})", a.name, part, run, end, dimension);
}

void TritonWriter::write_scan_finish(const KernelStatement& s) {
  const Accumulator& a = kernel_.accumulators[s.accumulator];
  const std::string run = a.name + "_run";
  if (a.kind == ReductionKind::kLogSumExp)
    return define(s.result, fmt::format("lt.finite_or_zero({0}) + tl.log({0}_sum * lt.exp_difference({0}, lt.finite_or_zero({0})))", run));
  define(s.result, run);
  if (accumulator_outputs(a) == 2) define(s.result + 1, run + "_index");
}

}  // namespace litz
