// Random numbers that generated code draws itself: a seed drawn from the framework's generator where the op would have drawn, and a counter
// for every element, so that blocking and fusion do not matter. Only where LoweringOptions ask for it: eager's own numbers are others.
#include <cmath>

#include "litz/lower/lowering.h"

namespace litz {
namespace {

constexpr std::string_view kDrawSeed =
    "aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None) -> Tensor";

Buffer* draw_seed(Lowering& lowering, const Node& node, const Device& device) {
  Operation* op = lowering.new_operation(OperationKind::kExtern, node, node.name + "_seed");
  op->callee = lowering.program().schema(*parse_schema(kDrawSeed));
  op->arguments = {INT64_MIN, INT64_MAX, ExternArgumentList{int64_t{1}}, DType::kInt64, None{}, device, None{}};
  Buffer* seed = lowering.new_buffer(node.name + "_seed", DType::kInt64, {lowering.integer(1)}, device);
  seed->layout.kind = LayoutKind::kStrided;
  seed->layout.strides = {lowering.integer(1)};
  lowering.program().set_outputs(op, {seed});
  return seed;
}

LoweringResult lower_dropout(Lowering& lowering, const Node& node) {
  if (!lowering.options().draws_random_numbers) return unsupported("random numbers are eager's");
  const Argument& share = node.argument("p");
  const double p = share.is<double>() ? share.as<double>() : share.is<int64_t>() ? static_cast<double>(share.as<int64_t>()) : -1;
  if (!(p >= 0 && p < 1)) return unsupported("dropout of a share that is not in [0, 1)");
  const View input = lowering.view(node.argument("input").as<Value>());
  const DType wide = opmath_type(input.dtype);
  const View seed = whole_view(lowering.context(), draw_seed(lowering, node, node.outputs[0].device));
  const auto least = static_cast<int64_t>(std::llround(std::ldexp(p, 32)));  // of the words that keep an element
  auto keeps = [&](BodyBuilder& b, std::span<const Expr> index) {
    const Expr first = lowering.integer(0);
    const ValueId offset = b.index_expr(flatten(lowering.context(), index, node.outputs[0].sizes));
    const ValueId word = b.random_uint(lowering.load(b, seed, std::span(&first, 1)), offset);
    return b.op(Op::kGe, {word, b.constant(DType::kUInt32, Number::of(std::min<int64_t>(least, UINT32_MAX)))});
  };
  std::vector<int> wanted{0};
  if (lowering.is_used(node, 1)) wanted.push_back(1);
  std::vector<View> views = lowering.pointwise_many(node, wanted, [&](BodyBuilder& b, std::span<const Expr> index) {
    const ValueId kept = keeps(b, index);
    // A factor as in eager: what is no number stays none.
    const ValueId factor = b.where(kept, b.constant(wide, 1 / (1 - p)), b.constant(wide, 0.0));
    std::vector<ValueId> out{b.cast(b.mul(b.cast(lowering.load(b, input, index), wide), factor), input.dtype)};
    if (wanted.size() > 1) out.push_back(kept);
    return out;
  });
  views.resize(2);
  return views;
}

constexpr LoweringEntry kTable[] = {
    {"aten.native_dropout", lower_dropout},
};

}  // namespace

std::span<const LoweringEntry> random_lowerings() { return kTable; }

}  // namespace litz
