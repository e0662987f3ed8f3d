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
  product_.hidden.push_back(factor->result);
  auto narrow = [&](KernelValue v) {
    const KernelStatement* s = definition[v];
    if (s->kind == KernelOp::kCompute && s->instr.op == Op::kCast) product_.hidden.push_back(v), v = s->operands[0];
    LITZ_CHECK(definition[v]->kind == KernelOp::kLoad, "{}: a factor is computed", kernel_.name);
    return v;
  };
  product_.left = narrow(factor->operands[0]);
  product_.right = narrow(factor->operands[1]);
  const auto& varies = kernel_.values[product_.left].varies;
  const bool is_left = std::ranges::any_of(varies, [&](const KernelLoop* l) { return l->is_parallel && dimension_.at(l) == 0; });
  if (!is_left) std::swap(product_.left, product_.right);
}

/// Programs go through the tiles in groups of rows, so that those that run together read few rows and columns.
void TritonWriter::write_product_grid(const KernelLoop& rows, const KernelLoop& columns) {
  line("tiles_y: tl.constexpr = {}", index_.text(ceil_div(rows.extent, rows.step)));
  line("tiles_x: tl.constexpr = {}", index_.text(ceil_div(columns.extent, columns.step)));
  line("first_y = program // (8 * tiles_x) * 8");
  line("group_y = tl.minimum(tiles_y - first_y, 8)");
  line("y_start = (first_y + program % (8 * tiles_x) % group_y) * YBLOCK");
  line("x_start = program % (8 * tiles_x) // group_y * XBLOCK");
}

void TritonWriter::write_product_loop(const KernelLoop& loop) {
  lane_axis_[loop.axis] = &loop;
  line("RBLOCK: tl.constexpr = {}", loop.step.integer());
  line("for r_start in range(0, {}, RBLOCK):", index_.text(loop.extent));
  ++depth_;
  const bool is_even = loop.extent.as_integer() && loop.extent.integer() % loop.step.integer() == 0;
  for (const char* side : {"row", "column"}) {
    const bool is_row = side == std::string_view("row");
    line("r_{} = {} + tl.arange(0, RBLOCK)[{}]", side, is_wide_ ? "tl.cast(r_start, tl.int64)" : "r_start", is_row ? "None, :" : ":, None");
    if (!is_even) line("r_{0}_in = r_{0} < {1}", side, index_.text(loop.extent));
  }
  for (const KernelStatement& s : loop.body) {
    if (std::ranges::find(product_.hidden, s.result) != product_.hidden.end() && s.result != kNoKernelValue) continue;
    if (s.kind == KernelOp::kUpdate) {
      const std::string& name = kernel_.accumulators[s.accumulator].name;
      line("{0} = tl.dot({1}, {2}, {0})", name, operand(product_.left), operand(product_.right));
      continue;
    }
    const bool is_left = s.result == product_.left;
    LITZ_CHECK(is_left || s.result == product_.right, "{}: a statement in the loop of a product", kernel_.name);
    names_[&loop] = is_left ? "r_row" : "r_column";
    index_.bind(loop.axis, names_[&loop]);
    write_statement(s);
  }
  --depth_;
}

}  // namespace litz
