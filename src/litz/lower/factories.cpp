// Tensors made of nothing.
#include "litz/lower/promotion.h"

namespace litz {

namespace {

LoweringResult lower_full(Lowering& lowering, const Node& node) {
  return std::vector{lowering.pointwise(
      node, 0, [&](BodyBuilder& b, std::span<const Expr>) { return number_value(b, node.argument("fill_value"), node.outputs[0].dtype); })};
}

LoweringResult lower_iota(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  Expr start = in.expr("start"), step = in.expr("step");
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    return b.cast(b.index_expr(start + index[0] * step), node.outputs[0].dtype);
  })};
}

constexpr LoweringEntry kTable[] = {
    {"aten.full", lower_full},
    {"prims.iota", lower_iota},
};

}  // namespace

std::span<const LoweringEntry> factory_lowerings() { return kTable; }

}  // namespace litz
