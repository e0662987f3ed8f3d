// Convolutions that take each channel by itself, written out in the body: a sum over a small window, with what reads it in one kernel.
#include "litz/lower/depthwise.h"

#include "litz/lower/window.h"

namespace litz {

bool is_small_depthwise(const Node& node, int64_t most_elements) {
  const TensorMeta& self = node.argument("input").as<Value>().meta();
  const TensorMeta& weight = node.argument("weight").as<Value>().meta();
  if (self.rank() != 4 || weight.rank() != 4 || !is_floating(self.dtype) || weight.dtype != self.dtype) return false;
  if (node.argument("transposed").as<bool>() || !weight.sizes[1].is_integer(1)) return false;
  const auto height = weight.sizes[2].as_integer(), width = weight.sizes[3].as_integer();
  return weight.sizes[0] == self.sizes[1] && height && width && *height * *width <= most_elements;
}

namespace {

constexpr int64_t kElementsInPlace = 9;  // of windows: see docs/decisions/025-depthwise-convolutions.md
constexpr int64_t kChannelsInPlace = 16;

/// The weight with channels last, as the tensor that it is applied to. It is copied to that order, so that neighbours in memory are read
/// together; small windows of channels that fill the columns of a tile are read once for all its rows, from where they lie.
View channels_last_weight(Lowering& lowering, const Node& node, const View& weight) {
  static constexpr int64_t kChannelsLast[] = {2, 3, 1, 0};
  const View turned = permute(lowering.context(), weight, kChannelsLast);
  const auto channels = weight.sizes[0].as_integer();
  const int64_t elements = *weight.sizes[2].as_integer() * *weight.sizes[3].as_integer();
  if (channels && *channels % kChannelsInPlace == 0 && elements <= kElementsInPlace) return turned;
  const View copy = lowering.copy(turned, &node, node.name + "_weight");
  copy.buffer->layout.wanted_order = {0, 1, 2, 3};
  copy.buffer->layout.order_is_binding = true;
  return copy;
}

}  // namespace

std::vector<View> lower_depthwise(Lowering& lowering, const Node& node) {
  const Arguments in(lowering, node);
  const View self = in.tensor("input"), weight = in.tensor("weight");
  const std::optional<View> bias = in.optional_tensor("bias");
  Window w;
  w.kernel = {*weight.sizes[2].as_integer(), *weight.sizes[3].as_integer()};
  w.stride = two_of(in.integers("stride"), {1, 1});
  w.padding = two_of(in.integers("padding"), {0, 0});
  w.dilation = two_of(in.integers("dilation"), {1, 1});
  const DType wide = opmath_type(self.dtype);
  const View factors = channels_last_weight(lowering, node, weight);
  return {lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    const Expr channel = index[1], zero = lowering.integer(0);
    ValueId sum = bias ? b.cast(lowering.load(b, *bias, std::vector{channel}), wide) : b.constant(wide, 0.0);
    for (int64_t kh = 0; kh < w.kernel[0]; ++kh)
      for (int64_t kw = 0; kw < w.kernel[1]; ++kw) {
        const WindowPlace p = place_in_window(self, index, w, lowering.integer(kh), lowering.integer(kw));
        const ValueId x = b.cast(lowering.load(b, self, p.at, lowering.inside(b, p.bounds)), wide);
        const ValueId factor = lowering.load(b, factors, std::vector{lowering.integer(kh), lowering.integer(kw), zero, channel});
        sum = b.op(Op::kFma, {x, b.cast(factor, wide), sum});
      }
    return sum;
  })};
}

}  // namespace litz
