// The sum of a matrix product as tl.dot. Its two factors are blocks of their own shapes: the summed axis is the second dimension of the
// left one and the first of the right one.
#include <algorithm>

#include "litz/codegen/triton/triton_names.h"
#include "litz/codegen/triton/triton_writer.h"
#include "litz/kernel/tree_passes.h"
#include "litz/support/check.h"

namespace litz {

/// sum += cast(left) * cast(right), where left varies over the rows and right over the columns.
void TritonWriter::find_product() {
  std::vector<const KernelStatement*> definition(kernel_.values.size());
  const KernelStatement* update = nullptr;
  bool has_summed_loop = false;
  for_each_statement(kernel_.body, [&](const KernelStatement& s) {
    if (s.result != kNoKernelValue) definition[s.result] = &s;
    if (s.kind == KernelOp::kUpdate) update = &s;
    has_summed_loop |= s.kind == KernelOp::kLoop && s.loop->has_lanes && !s.loop->is_parallel;
  });
  LITZ_CHECK(update && has_summed_loop, "{}: no sum in a tiled product", kernel_.name);
  product_.accumulator = update->accumulator;
  const KernelStatement* factor = definition[update->operands[0]];
  LITZ_CHECK(factor->kind == KernelOp::kCompute && factor->instr.op == Op::kMul, "{}: the sum is not of products", kernel_.name);
  auto narrow = [&](KernelValue v) {
    const KernelStatement* s = definition[v];
    LITZ_CHECK(s->kind == KernelOp::kCompute && s->instr.op == Op::kCast && dtype_bytes(kernel_.values[s->operands[0]].dtype) == 2,
               "{}: a factor is no narrow float", kernel_.name);
    return s->operands[0];
  };
  product_.left = narrow(factor->operands[0]);
  product_.right = narrow(factor->operands[1]);
  const auto& varies = kernel_.values[product_.left].varies;
  const bool is_left = std::ranges::any_of(varies, [&](const KernelLoop* l) { return l->is_parallel && dimension_.at(l) == 0; });
  if (!is_left) std::swap(product_.left, product_.right);
}

/// Programs go through the tiles in groups of rows, so that those that run together read few rows and columns.
void TritonWriter::write_product_grid(const Loops& loops) {
  const KernelLoop &rows = *loops[loops.size() - 2], &columns = *loops.back();
  line("tiles_y: tl.constexpr = {}", index_.text(ceil_div(rows.extent, rows.step)));
  line("tiles_x: tl.constexpr = {}", index_.text(ceil_div(columns.extent, columns.step)));
  if (has_descriptors()) write_descriptors();
  if (loops.size() == 3) {
    line("z = program // (tiles_y * tiles_x)");
    line("program = program % (tiles_y * tiles_x)");
  }
  line("first_y = program // (8 * tiles_x) * 8");
  line("group_y = tl.minimum(tiles_y - first_y, 8)");
  line("y_start = (first_y + program % (8 * tiles_x) % group_y) * YBLOCK");
  line("x_start = program % (8 * tiles_x) // group_y * XBLOCK");
}

/// What a factor is computed from in the loop, and the factor as a whole block: the summed axis is a row of the left one and a column
/// of the right one. Behind the axis's end it must be 0 whatever it is computed from: infinity times the other factor's 0 is NaN.
void TritonWriter::write_factor(const KernelLoop& loop, KernelValue factor, const std::string& summed, const std::string& shape) {
  const KernelStatement* definition = nullptr;
  std::vector<bool> is_needed(kernel_.values.size());
  is_needed[factor] = true;
  for (auto s = loop.body.rbegin(); s != loop.body.rend(); ++s) {
    if (s->result == kNoKernelValue || !is_needed[s->result]) continue;
    for (KernelValue v : s->operands)
      if (v != kNoKernelValue) is_needed[v] = true;
    for (Expr e : {s->offset, s->instr.expr}) {
      for (Expr symbol : e ? free_symbols(e) : std::vector<Expr>()) {
        for (const KernelStatement& other : loop.body)
          if (other.kind == KernelOp::kCompute && other.instr.op == Op::kIndirect && other.instr.expr == symbol)
            is_needed[other.result] = true;
      }
    }
  }
  names_[&loop] = summed;
  index_.bind(loop.axis, summed);
  for (const KernelStatement& s : loop.body) {
    if (s.result == kNoKernelValue || !is_needed[s.result]) continue;
    write_statement(s);
    if (s.result == factor) definition = &s;
  }
  const bool is_loaded = definition && definition->kind == KernelOp::kLoad && kernel_.values[factor].varies.size() == 2;
  if (is_loaded) return;
  const std::string whole = fmt::format("tl.broadcast_to({}, {})", operand(factor), shape);
  const DType dtype = kernel_.values[factor].dtype;
  const bool is_even = is_multiple(loop.extent, loop.step.integer());
  define(factor, is_even ? whole : fmt::format("tl.where({}_in, {}, {})", summed, whole, typed_literal(Number::of(0.0), dtype)));
}

void TritonWriter::write_product_loop(const KernelLoop& loop) {
  lane_axis_[loop.axis] = &loop;
  if (!has_descriptors()) line("RBLOCK: tl.constexpr = {}", loop.step.integer());
  line("for r_start in range(0, {}, RBLOCK):", index_.text(loop.extent));
  ++depth_;
  if (has_descriptors()) {
    line("if not ALIGNED:");
    ++depth_;
  }
  for (const char* side : {"row", "column"}) {
    const bool is_row = side == std::string_view("row");
    line("r_{} = {} + tl.arange(0, RBLOCK)[{}]", side, is_wide_ ? "tl.cast(r_start, tl.int64)" : "r_start", is_row ? "None, :" : ":, None");
    if (!is_multiple(loop.extent, loop.step.integer())) line("r_{0}_in = r_{0} < {1}", side, index_.text(loop.extent));
  }
  write_factor(loop, product_.left, "r_row", "[YBLOCK, RBLOCK]");
  write_factor(loop, product_.right, "r_column", "[RBLOCK, XBLOCK]");
  if (has_descriptors()) {
    --depth_;
    write_factors_of_descriptors();
  }
  const std::string& name = kernel_.accumulators[product_.accumulator].name;
  line("{0} = tl.dot({1}, {2}, {0})", name, operand(product_.left), operand(product_.right));
  --depth_;
}

}  // namespace litz
