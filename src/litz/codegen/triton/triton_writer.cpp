// The frame of a kernel, its grid and its loops.
#include "litz/codegen/triton/triton_writer.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "litz/codegen/triton/triton_names.h"
#include "litz/kernel/tree_passes.h"
#include "litz/support/check.h"

namespace litz {
namespace {

bool is_for(const KernelLoop& loop) { return !loop.is_parallel && !(loop.has_lanes && loop.is_whole); }

/// Every part of the expression fits int32.
bool fits_int32(Expr expr) {
  ValueRange r = expr.range();
  if (r.lower < std::numeric_limits<int32_t>::min() || r.upper > std::numeric_limits<int32_t>::max()) return false;
  return std::ranges::all_of(expr.operands(), fits_int32);
}

}  // namespace

TritonWriter::TritonWriter(const Kernel& kernel, const ProductTile* tile)
    : kernel_(kernel),
      phases_(grid_phases(kernel)),
      behind_(statements_behind(kernel)),
      tile_(tile),
      accumulators_(kernel.accumulators.size()),
      value_text_(kernel.values.size()),
      constant_(kernel.values.size()),
      is_unused_(kernel.values.size()),
      is_dirty_(kernel.parameters.size()) {
  plan();
}

std::string TritonWriter::refusal() const {
  std::string reason;
  auto see = [&](DType dtype) {
    if (!triton_type(dtype)) reason = fmt::format("{}: generated kernels have no {}", kernel_.name, dtype_name(dtype));
  };
  for (const KernelValueInfo& v : kernel_.values) see(v.dtype);
  for (const KernelParameter& p : kernel_.parameters) see(p.dtype);
  for_each_statement(kernel_.body, [&](const KernelStatement& s) {
    const bool has_block = tile_ || s.kind != KernelOp::kLoop || !s.loop->is_parallel || s.loop->has_lanes;
    if (!has_block && !(is_cooperative() && s.loop->extent.is_integer(1)))
      reason = fmt::format("{}: the parallel loop over {} has no block", kernel_.name, to_string(s.loop->axis));
    if (s.kind == KernelOp::kStore && !s.memory.is_scratch && s.mode == ScatterMode::kMul &&
        kernel_.parameters[s.memory.index].dtype == DType::kBool)
      reason = fmt::format("{}: no scatter of products of truth values", kernel_.name);
  });
  for (size_t k = 0; k < kernel_.accumulators.size(); ++k) {
    const Accumulator& a = kernel_.accumulators[k];
    if (!is_sort(a.kind)) continue;
    const bool is_whole_row = scans_lanes(a) && a.lanes[0]->is_whole && !has_carry(static_cast<int>(k));
    const auto dimension = is_whole_row ? dimension_.find(a.lanes[0]) : dimension_.end();
    if (dimension == dimension_.end() || dimension->second != rank_ - 1)
      reason = fmt::format("{}: {} sorts rows that do not lie along the last dimension of a block", kernel_.name, a.name);
  }
  if (tile_ && counts_programs()) reason = fmt::format("{}: statements behind the loops over tiles", kernel_.name);
  if (!no_descriptors_.empty()) reason = fmt::format("{}: no tensor descriptors: {}", kernel_.name, no_descriptors_);
  if (!kernel_.scratch.empty())
    reason = fmt::format("{}: members pass '{}' on in a way that a block cannot hold", kernel_.name, kernel_.scratch[0].name);
  return reason;
}

// ---- what each loop and accumulator is called ----

void TritonWriter::plan() {
  is_wide_ = !kernel_.narrow_indices;
  find_coarse();
  Loops lanes, loops;
  const int depth = lane_depth(kernel_.body);
  auto plan_phase = [&](std::span<const KernelStatement> phase) { plan_body(phase, depth - lane_depth(phase), lanes, loops); };
  for (const auto& phase : phases_)
    if (!is_once(phase)) plan_phase(phase);
  const int64_t block_elements = block_elements_;
  for (const auto& phase : phases_)
    if (is_once(phase)) plan_phase(phase);
  plan_phase(behind_);
  block_elements_ = block_elements;  // the blocks of the grid alone decide how many threads there are
  if (tile_) find_product();
  find_exp_sums(kernel_.body);
  for_each_statement(kernel_.body, [&](const KernelStatement& s) {
    if (s.offset) is_wide_ |= !fits_int32(s.offset);
    if (s.instr.expr && s.instr.op == Op::kIndexExpr) is_wide_ |= !fits_int32(s.instr.expr);
  });
  if (has_descriptors()) find_descriptors();
}

void TritonWriter::plan_body(std::span<const KernelStatement> body, int first_dimension, Loops& lanes, Loops& loops) {
  for (const KernelStatement& s : body) {
    if (s.kind == KernelOp::kInit) accumulators_[s.accumulator].loops_at_init = loops;
    if (s.kind == KernelOp::kFinish) accumulators_[s.accumulator].varies = kernel_.values[s.result].varies;
    if (s.kind == KernelOp::kUpdate) {
      AccumulatorPlan& a = accumulators_[s.accumulator];
      a.is_in_own_loop &= loops == a.loops_at_init;
      a.is_direct = a.is_in_own_loop && !kernel_.accumulators[s.accumulator].is_scan;
    }
    if (s.kind != KernelOp::kLoop) continue;
    const KernelLoop& loop = *s.loop;
    const bool is_summed = tile_ && loop.has_lanes && !loop.is_parallel;  // no dimension of its own: see triton_product.cpp
    if (loop.has_lanes && !is_summed) {
      is_wide_ |= loop.extent.range().upper > std::numeric_limits<int32_t>::max() - loop.step.integer();
      dimension_[&loop] = first_dimension + static_cast<int>(lanes.size());
      lanes.push_back(&loop);
      rank_ = std::max(rank_, dimension_[&loop] + 1);
      int64_t elements = 1;
      for (const KernelLoop* l : lanes) elements *= l->step.integer();
      block_elements_ = std::max(block_elements_, elements);
    }
    if (is_for(loop)) loops.push_back(&loop);
    plan_body(loop.body, first_dimension, lanes, loops);
    if (is_for(loop)) loops.pop_back();
    if (loop.has_lanes && !is_summed) lanes.pop_back();
  }
}

// ---- the frame ----

std::string TritonWriter::run() {
  for (const KernelOrigin& o : kernel_.origins) line("# {}", python_comment(o.note.empty() ? o.name : o.name + "; " + o.note));
  line("import triton");
  line("import triton.language as tl");
  line("import litz_triton_ops as lt\n\n");
  write_head();
  ++depth_;
  if (kernel_.body.empty()) line("pass");
  if (is_cooperative()) {
    write_phases();
  } else {
    write_grid(phases_[0], 0);
    if (!behind_.empty()) write_behind("0");
  }
  --depth_;
  write_launch();
  return std::move(text_);
}

void TritonWriter::write_head() {
  std::string arguments;
  std::vector<std::string> notes;
  for (size_t k = 0; k < kernel_.parameters.size(); ++k) {
    const KernelParameter& p = kernel_.parameters[k];
    const std::string name = p.kind == KernelParameter::kNumber ? fmt::format("s{}", k) : pointer(Memory{false, static_cast<int>(k)});
    arguments += (arguments.empty() ? "" : ", ") + name;
    notes.push_back(fmt::format("{}: {}", name, p.kind == KernelParameter::kNumber ? to_string(p.number) : p.name + " " + shape_text(p)));
    if (p.kind == KernelParameter::kNumber) index_.bind(p.number, fmt::format("n{}", k));
  }
  if (kernel_.reports_errors) arguments += arguments.empty() ? "error" : ", error";
  if (counts_programs()) arguments += arguments.empty() ? "counter" : ", counter";
  if (has_descriptors()) arguments += ", ALIGNED: tl.constexpr = True";
  line("@triton.jit");
  line("def {}({}):", kernel_.name, arguments);
  ++depth_;
  for (const std::string& note : notes) line("# {}", python_comment(note));
  for (size_t k = 0; k < kernel_.parameters.size(); ++k) {
    if (kernel_.parameters[k].kind == KernelParameter::kNumber) line("n{0} = tl.cast(s{0}, {1})", k, is_wide_ ? "tl.int64" : "tl.int32");
  }
  --depth_;
}

int TritonWriter::warps() const {
  if (tile_) return tile_->warps;
  const bool is_alone =
      std::ranges::none_of(kernel_.body, [](const KernelStatement& s) { return s.kind == KernelOp::kLoop && s.loop->is_parallel; });
  // One program has a multiprocessor for itself: the more threads, the more accesses are on their way.
  if (is_alone) return static_cast<int>(std::clamp<int64_t>(block_elements_ / 128, 1, 32));
  // Two accesses of 16 bytes by a thread hide more of the arithmetic than two threads.
  const bool is_pointwise =
      kernel_.accumulators.empty() && std::ranges::all_of(dimension_, [](const auto& d) { return d.first->is_parallel; });
  const int64_t elements_of_warp = is_pointwise && block_elements_ >= 2048 ? 512 : 256;
  const auto wanted = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, block_elements_ / elements_of_warp))));
  return std::clamp(wanted, 1, block_elements_ >= 8192 ? 16 : 8);
}

/// What the launcher passes and how many threads a program has.
void TritonWriter::write_launch() {
  std::string signature;
  int pointers = 0, numbers = 0;
  for (const KernelParameter& p : kernel_.parameters) {
    if (p.kind == KernelParameter::kNumber) {
      ++numbers;
      signature += "\"i64\", ";
    } else {
      ++pointers;
      signature += fmt::format("\"*{}\", ", triton_signature_type(p.dtype));
    }
  }
  if (kernel_.reports_errors) signature += "\"*i64\", ";
  if (counts_programs()) signature += "\"*i32\", ";
  if (has_descriptors()) signature += "\"constexpr\", ";
  const std::string counts =
      fmt::format("{}{}", counts_programs() ? ", counts_programs=True" : "", is_cooperative() ? ", is_cooperative=True" : "");
  const std::string stages = tile_ ? fmt::format(", num_stages={}", tile_->stages) : "";
  text_ += fmt::format(
      "\n\nLAUNCH = dict(kernel={}, signature=[{}], pointers={}, numbers={}, reports_errors={}, num_warps={}, fuses_products={}{}{})\n",
      kernel_.name, signature, pointers, numbers, kernel_.reports_errors ? "True" : "False", warps(), is_coarse_ ? "True" : "False", counts,
      stages);
}

// ---- loops ----

std::string TritonWriter::slice(int dimension) const {
  if (rank_ < 2) return "";
  std::string text;
  for (int d = 0; d < rank_; ++d) text += fmt::format("{}{}", d ? ", " : "", d == dimension ? ":" : "None");
  return "[" + text + "]";
}

void TritonWriter::open_lanes(const KernelLoop& loop, const std::string& name, const std::string& start, std::string block) {
  if (block.empty()) {
    for (char c : name) block += static_cast<char>(std::toupper(c));
    block += "BLOCK";
  }
  block_names_[&loop] = block;
  names_[&loop] = name;
  lane_axis_[loop.axis] = &loop;
  open_lanes_.push_back(&loop);
  const std::string range = fmt::format("tl.arange(0, {}){}", block_names_[&loop], slice(dimension_.at(&loop)));
  line("{} = {}{}", name, start.empty() ? "" : start + " + ", is_wide_ && start.empty() ? fmt::format("({}).to(tl.int64)", range) : range);
  index_.bind(loop.axis, name);
  if (!is_multiple(loop.extent, loop.step.integer())) line("{0}_in = {0} < {1}", name, index_.text(loop.extent));
}

// The parallel loops, outermost first; program k of the grid takes the k-th combination, the innermost loop the fastest. Of a cooperative
// kernel's phase it takes others too, as many further on as there are programs.
void TritonWriter::write_grid(std::span<const KernelStatement> phase, size_t number) {
  std::vector<const KernelLoop*> loops;
  std::span<const KernelStatement> body = phase;
  std::vector bodies{body};
  while (!body.empty() && body.back().kind == KernelOp::kLoop && body.back().loop->is_parallel) {
    loops.push_back(body.back().loop.get());
    body = loops.back()->body;
    bodies.push_back(body);
  }
  static constexpr const char* kNames[] = {"x", "y", "z"};
  LITZ_CHECK(loops.size() <= 3, "kernel {}: {} parallel loops", kernel_.name, loops.size());
  auto name_of = [&](size_t k) { return fmt::format("{}{}", kNames[loops.size() - 1 - k], number ? std::to_string(number) : ""); };
  for (size_t k = 0; k < loops.size(); ++k) {
    if (!loops[k]->has_lanes) continue;
    std::string block = name_of(k);
    block[0] = static_cast<char>(std::toupper(block[0]));
    line("{}BLOCK: tl.constexpr = {}", block, loops[k]->step.integer());
  }
  auto write_hoisted = [&](size_t k) {
    for (const KernelStatement& s : bodies[k])
      if (s.kind != KernelOp::kLoop) write_statement(s);
  };
  if (is_cooperative()) {
    write_hoisted(0);
    Expr tiles = ceil_div(loops[0]->extent, loops[0]->step);
    for (size_t k = 1; k < loops.size(); ++k) tiles = tiles * ceil_div(loops[k]->extent, loops[k]->step);
    line("for tile{} in range(tl.program_id(0), {}, programs):", number, index_.text(tiles));
    ++depth_;
    line("program = tl.cast(tile{}, {})", number, is_wide_ ? "tl.int64" : "tl.int32");
  } else if (!loops.empty() && !has_descriptors()) {
    line("program = tl.program_id(0){}", is_wide_ ? ".to(tl.int64)" : "");
  }
  if (tile_) write_product_grid(loops);
  for (size_t k = tile_ ? 0 : loops.size(); k-- > 0;) {
    const std::string name = name_of(k);
    const std::string block = static_cast<char>(std::toupper(name[0])) + name.substr(1) + "BLOCK";
    if (k == 0) {
      line("{}_start = program * {}", name, block);
      continue;
    }
    const std::string tiles = index_.text(ceil_div(loops[k]->extent, loops[k]->step));
    line("{}_start = program % ({}) * {}", name, tiles, block);
    line("program = program // ({})", tiles);
  }
  for (size_t k = 0; k < loops.size(); ++k) {
    if (k > 0 || !is_cooperative()) write_hoisted(k);
    if (loops[k]->has_lanes) open_lanes(*loops[k], name_of(k), name_of(k) + "_start");
    else index_.bind(loops[k]->axis, name_of(k));
  }
  if (has_descriptors()) write_pieces(body);
  else write_body(body);
  if (has_descriptors() || is_cooperative()) --depth_;  // of the loop over tiles
}

void TritonWriter::write_body(std::span<const KernelStatement> body) {
  for (const KernelStatement& s : body) write_statement(s);
}

void TritonWriter::write_loop(const KernelLoop& loop) {
  if (tile_) return write_product_loop(loop);
  if (std::ranges::any_of(exp_sums_, [&](const ExpSum& e) { return e.second == &loop; })) return;  // within the first
  if (!loop.has_lanes) {
    const std::string name = fmt::format("k{}", next_loop_++);
    line("for {} in range(0, {}):", is_wide_ ? name + "_step" : name, index_.text(loop.extent));
    index_.bind(loop.axis, name);
    lane_axis_.erase(loop.axis);
    ++depth_;
    if (is_wide_) line("{0} = tl.cast({0}_step, tl.int64)", name);
    write_body(loop.body);
    if (loop.body.empty()) line("pass");
    --depth_;
    return;
  }
  const std::string name = fmt::format("r{}", next_loop_++);
  std::string block = name;
  block[0] = 'R';
  line("{}BLOCK: tl.constexpr = {}", block, loop.step.integer());
  if (loop.is_whole) {
    open_lanes(loop, name, "");
    write_body(loop.body);
    open_lanes_.pop_back();
    return;
  }
  line("for {}_start in range(0, {}, {}BLOCK):", name, index_.text(loop.extent), block);
  ++depth_;
  open_lanes(loop, name, is_wide_ ? fmt::format("tl.cast({}_start, tl.int64)", name) : name + "_start");
  write_body(loop.body);
  open_lanes_.pop_back();
  --depth_;
}

}  // namespace litz
