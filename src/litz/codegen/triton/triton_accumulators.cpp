// Accumulators as Triton source: a block of partial results with the lanes of the loops between init and finish, and one reduction
// over those at the finish.
#include <algorithm>

#include "litz/codegen/triton/triton_names.h"
#include "litz/codegen/triton/triton_writer.h"
#include "litz/support/check.h"

namespace litz {
namespace {

bool has_index(ReductionKind kind) { return reduction_traits(kind).inputs == 2; }
bool is_minimum(ReductionKind kind) { return kind == ReductionKind::kArgMin || kind == ReductionKind::kMinWithIndex; }

/// Truth values: a sum or maximum is `any`, a product or minimum `all`.
ReductionKind kind_of(const Accumulator& a) {
  if (a.dtype != DType::kBool) return a.kind;
  if (a.kind == ReductionKind::kSum || a.kind == ReductionKind::kMax) return ReductionKind::kAny;
  if (a.kind == ReductionKind::kProd || a.kind == ReductionKind::kMin) return ReductionKind::kAll;
  return a.kind;
}

}  // namespace

std::string TritonWriter::identity(const Accumulator& a) const {
  const ReductionKind kind = kind_of(a);
  if (kind == ReductionKind::kAny || kind == ReductionKind::kAll) return kind == ReductionKind::kAny ? "False" : "True";
  return python_literal(reduction_identity(kind, a.dtype), a.dtype);
}

std::string TritonWriter::no_index(const Accumulator& a) {
  return fmt::format("{}", a.index_dtype == DType::kInt32 ? int64_t{INT32_MAX} : kNoIndex);
}

std::string TritonWriter::shape_of(const Accumulator& a, int accumulator, int64_t at_once, std::string_view last) const {
  std::vector<std::string> sizes(static_cast<size_t>(rank_), "1");
  const Loops& own = kernel_.accumulators[accumulator].lanes;
  for (const KernelLoop* loop : accumulators_[accumulator].varies) {
    if (std::ranges::find(own, loop) == own.end() && block_names_.contains(loop)) sizes[dimension_.at(loop)] = block_name(*loop);
  }
  for (const KernelLoop* loop : a.lanes) sizes[dimension_.at(loop)] = fmt::format("{}", loop->step.integer() / at_once);
  if (!last.empty()) sizes.emplace_back(last);
  std::string text;
  for (const std::string& size : sizes) text += (text.empty() ? "" : ", ") + size;
  return "[" + text + "]";
}

void TritonWriter::write_init(const KernelStatement& s) {
  if (is_product(s.accumulator)) return line("{} = tl.zeros([YBLOCK, XBLOCK], tl.float32)", kernel_.accumulators[s.accumulator].name);
  if (accumulators_[s.accumulator].is_direct) return;
  const Accumulator& a = kernel_.accumulators[s.accumulator];
  if (scans_lanes(a)) return write_scan_init(s);
  if (const ExpSum* e = exp_sum_of(s.accumulator)) {
    if (e->sum == s.accumulator) return;
    const std::string lanes = shape_of(a, s.accumulator, e->at_once);
    line("{} = tl.full({}, float(\"-inf\"), tl.float32)", a.name, lanes);
    return line("{} = tl.full({}, 0.0, tl.float32)", kernel_.accumulators[e->sum].name, lanes);
  }
  const std::string shape = shape_of(a, s.accumulator);
  const char* type = triton_type(a.dtype);
  if (a.kind == ReductionKind::kWelford) {
    for (const char* part : {"mean", "m2", "count"}) line("{}_{} = tl.full({}, 0.0, {})", a.name, part, shape, type);
    return;
  }
  line("{} = tl.full({}, {}, {})", a.name, shape, identity(a), type);
  if (a.kind == ReductionKind::kLogSumExp) line("{}_sum = tl.full({}, 0.0, {})", a.name, shape, type);
  if (has_index(a.kind)) line("{}_index = tl.full({}, {}, {})", a.name, shape, no_index(a), triton_type(a.index_dtype));
}

std::string TritonWriter::live(const KernelStatement& s, KernelValue v, const std::string& other, DType dtype, bool whole_shape) const {
  const Accumulator& a = kernel_.accumulators[s.accumulator];
  const std::string mask = mask_of(a.lanes);
  std::string text = operand(v);
  if (!mask.empty()) text = fmt::format("tl.where({}, {}, tl.full([], {}, {}))", mask, text, other, triton_type(dtype));
  const auto& varies = kernel_.values[v].varies;
  const bool has_lanes =
      std::ranges::all_of(a.lanes, [&](const KernelLoop* loop) { return std::ranges::find(varies, loop) != varies.end(); });
  if (whole_shape || (mask.empty() && !has_lanes)) text = fmt::format("tl.broadcast_to({}, {})", text, shape_of(a, s.accumulator));
  return text;
}

void TritonWriter::write_update(const KernelStatement& s) {
  if (const ExpSum* e = exp_sum_of(s.accumulator)) return write_exp_sum_update(*e);
  const Accumulator& a = kernel_.accumulators[s.accumulator];
  if (scans_lanes(a)) return write_scan_update(s);
  const ReductionKind kind = kind_of(a);
  const bool direct = accumulators_[s.accumulator].is_direct;
  const std::string mask = mask_of(a.lanes);
  if (has_index(kind)) {
    const std::string value = live(s, s.operands[0], identity(a), a.dtype, true);
    const std::string index = live(s, s.operands[1], no_index(a), a.index_dtype, true);
    const char* step = a.is_scan ? (is_minimum(kind) ? "scan_min" : "scan_max") : (is_minimum(kind) ? "better_min" : "better_max");
    if (direct) {
      line("{} = {}", a.name, value);
      line("{}_index = {}", a.name, index);
    } else {
      line("{0}, {0}_index = lt.{1}({0}, {0}_index, {2}, {3})", a.name, step, value, index);
    }
    return;
  }
  if (kind == ReductionKind::kWelford) {
    const std::string value = live(s, s.operands[0], "0.0", a.dtype, true);
    if (direct) {
      line("{}_mean = {}", a.name, value);
      line("{0}_m2 = tl.zeros_like({0}_mean)", a.name);
      line("{0}_count = {1} + tl.zeros_like({0}_mean)", a.name,
           mask.empty() ? "1.0" : fmt::format("({}).to({})", mask, triton_type(a.dtype)));
      return;
    }
    line("{0}_next_mean, {0}_next_m2, {0}_next_count = lt.welford_step({0}_mean, {0}_m2, {0}_count, {1})", a.name, value);
    for (const char* part : {"mean", "m2", "count"}) {
      if (mask.empty()) line("{0}_{1} = {0}_next_{1}", a.name, part);
      else line("{0}_{1} = tl.where({2}, {0}_next_{1}, {0}_{1})", a.name, part, mask);
    }
    return;
  }
  const std::string value = live(s, s.operands[0], identity(a), a.dtype, false);
  if (direct) {
    line("{} = {}", a.name, value);
    return;
  }
  switch (kind) {
    case ReductionKind::kSum: line("{0} = {0} + {1}", a.name, value); break;
    case ReductionKind::kProd: line("{0} = {0} * {1}", a.name, value); break;
    case ReductionKind::kXorSum: line("{0} = {0} ^ {1}", a.name, value); break;
    case ReductionKind::kAny: line("{0} = {0} | {1}", a.name, value); break;
    case ReductionKind::kAll: line("{0} = {0} & {1}", a.name, value); break;
    case ReductionKind::kMin: line("{0} = lt.least({0}, {1})", a.name, value); break;
    case ReductionKind::kMax: line("{0} = lt.greatest({0}, {1})", a.name, value); break;
    case ReductionKind::kLogSumExp:
      line("{0}_next, {0}_next_sum = lt.log_sum_exp_step({0}, {0}_sum, {1})", a.name, value);
      line("{0} = {0}_next", a.name);
      if (mask.empty()) line("{0}_sum = {0}_next_sum", a.name);
      else line("{0}_sum = tl.where({1}, {0}_next_sum, {0}_sum)", a.name, mask);
      break;
    default: LITZ_CHECK(false, "{}: no update of {}", kernel_.name, a.name);
  }
}

/// Over the lanes, the last dimension first.
std::string TritonWriter::reduced(const Accumulator& a, const std::string& function, std::string value) const {
  std::vector<int> dimensions;
  for (const KernelLoop* loop : a.lanes) dimensions.push_back(dimension_.at(loop));
  std::ranges::sort(dimensions, std::greater<>());
  for (int d : dimensions) value = fmt::format("lt.{}({}, {}, {})", function, value, d, rank_ > 1 ? "True" : "False");
  return value;
}

void TritonWriter::write_finish(const KernelStatement& s) {
  const Accumulator& a = kernel_.accumulators[s.accumulator];
  if (is_product(s.accumulator))
    return define(s.result, has_descriptors() && tile_->pieces > 1 ? fmt::format("{}_{}", a.name, piece_) : a.name);
  if (scans_lanes(a)) return write_scan_finish(s);
  const ReductionKind kind = kind_of(a);
  const bool direct = accumulators_[s.accumulator].is_direct;
  auto first_dimension = [&] { return a.lanes.empty() ? -1 : dimension_.at(a.lanes[0]); };
  if (has_index(kind)) {
    const char* function = is_minimum(kind) ? "reduce_min_index" : "reduce_max_index";
    LITZ_CHECK(a.lanes.size() <= 1, "{}: {} over {} loops with lanes", kernel_.name, a.name, a.lanes.size());
    std::string value = a.name, index = a.name + "_index";
    if (!a.lanes.empty()) {
      line("{0}_all, {0}_all_index = lt.{1}({0}, {0}_index, {2}, {3})", a.name, function, first_dimension(), rank_ > 1 ? "True" : "False");
      value = a.name + "_all";
      index = value + "_index";
    }
    if (accumulator_outputs(a) == 1) define(s.result, index);
    else define(s.result, value), define(s.result + 1, index);
    return;
  }
  if (kind == ReductionKind::kWelford) {
    std::string mean = a.name + "_mean", m2 = a.name + "_m2";
    if (!a.lanes.empty()) {
      line("{0}_all_mean, {0}_all_m2, {0}_all_count = lt.reduce_welford({0}_mean, {0}_m2, {0}_count, {1}, {2})", a.name, first_dimension(),
           rank_ > 1 ? "True" : "False");
      mean = a.name + "_all_mean";
      m2 = a.name + "_all_m2";
    }
    define(s.result, mean);
    define(s.result + 1, m2);
    return;
  }
  if (kind == ReductionKind::kLogSumExp) {
    if (a.is_scan) {
      define(s.result, fmt::format("lt.finite_or_zero({0}) + tl.log({0}_sum * lt.exp_difference({0}, lt.finite_or_zero({0})))", a.name));
      return;
    }
    line("{}_all = {}", a.name, reduced(a, "reduce_max", a.name));
    define(s.result, fmt::format("lt.finite_or_zero({}_all)", a.name));
    // Lanes outside the row stand at -inf and add exp(-inf) = 0.
    const std::string terms = direct ? fmt::format("tl.exp({} - {})", a.name, value_text_[s.result])
                                     : fmt::format("{0}_sum * tl.exp({0} - {1})", a.name, value_text_[s.result]);
    define(s.result + 1, reduced(a, "reduce_sum", terms));
    return;
  }
  if (const ExpSum* e = exp_sum_of(s.accumulator); e && e->sum == s.accumulator) {
    const std::string& m = kernel_.accumulators[e->maximum].name;
    return define(s.result, reduced(a, "reduce_sum", fmt::format("{} * tl.exp({} - {})", a.name, m, value_text_[e->m])));
  }
  static constexpr const char* kFunctions[] = {"reduce_sum", "reduce_prod", "reduce_min", "reduce_max",
                                               "reduce_any", "reduce_all",  "reduce_xor"};
  define(s.result, a.lanes.empty() ? a.name : reduced(a, kFunctions[static_cast<int>(kind)], a.name));
}

}  // namespace litz
