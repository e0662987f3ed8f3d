// Activations, with eager's formulas (order of operations included), in opmath.
#include <numbers>

#include "litz/decompose/decompose.h"

namespace litz {
namespace {

constexpr int64_t kZero = 0, kOne = 1;

Value unary(Rewrite& r, const char* op, Value x) { return r.b.call(op, {x}); }
Value clipped(Rewrite& r, Value x, Argument low, Argument high) {
  return r.b.call("aten.minimum", {r.b.call("aten.maximum", {x, low}), high});
}
/// 1 / (1 + exp(-x)) written out.
Value one_plus_exp_neg(Rewrite& r, Value x) { return r.b.add(unary(r, "aten.exp", r.b.neg(x)), kOne); }

Value input(Rewrite& r) { return r.opmath(r.tensor("self")); }

Replacement silu(Rewrite& r) {
  const Value x = input(r);
  return {r.result(r.b.div(x, one_plus_exp_neg(r, x)))};
}

Replacement gelu(Rewrite& r) {
  const Value x = input(r);
  const Value half = r.b.mul(x, 0.5);
  if (r.text("approximate") == "tanh") {
    const Value cube = r.b.mul(r.b.mul(x, x), x);
    const Value inner = r.b.mul(r.b.add(x, r.b.mul(cube, 0.044715)), std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    return {r.result(r.b.mul(half, r.b.add(unary(r, "aten.tanh", inner), kOne)))};
  }
  const Value erf = unary(r, "aten.erf", r.b.mul(x, std::numbers::sqrt2 / 2));
  return {r.result(r.b.mul(half, r.b.add(erf, kOne)))};
}

Replacement hardsigmoid(Rewrite& r) {
  const Value x = input(r);
  return {r.result(r.b.div(clipped(r, r.b.add(x, int64_t{3}), kZero, int64_t{6}), int64_t{6}))};
}

Replacement hardswish(Rewrite& r) {
  const Value x = input(r);
  return {r.result(r.b.div(r.b.mul(x, clipped(r, r.b.add(x, int64_t{3}), kZero, int64_t{6})), int64_t{6}))};
}

Replacement hardtanh(Rewrite& r) { return {r.result(clipped(r, r.tensor("self"), r.argument("min_val"), r.argument("max_val")))}; }

Replacement relu6(Rewrite& r) { return {r.result(clipped(r, r.tensor("self"), kZero, int64_t{6}))}; }

Replacement leaky_relu(Rewrite& r) {
  const Value x = input(r);
  return {r.result(r.b.where(r.b.gt(x, kZero), x, r.b.mul(x, r.argument("negative_slope"))))};
}

Value elu_of(Rewrite& r, Value x, double alpha, double scale, double input_scale) {
  const Value negative = r.b.mul(unary(r, "aten.expm1", input_scale == 1 ? x : r.b.mul(x, input_scale)), alpha * scale);
  const Value positive = scale == 1 ? x : r.b.mul(x, scale);
  return r.b.where(r.b.ge(x, kZero), positive, negative);
}

Replacement elu(Rewrite& r) { return {r.result(elu_of(r, input(r), r.number("alpha"), r.number("scale"), r.number("input_scale")))}; }
Replacement celu(Rewrite& r) {
  const double alpha = r.number("alpha");
  if (alpha == 0) return {};
  return {r.result(elu_of(r, input(r), alpha, 1, 1 / alpha))};
}
Replacement selu(Rewrite& r) {
  return {r.result(elu_of(r, input(r), 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1))};
}

Replacement softplus(Rewrite& r) {
  const Value x = input(r);
  const Value scaled = r.b.mul(x, r.argument("beta"));
  const Value soft = r.b.div(unary(r, "aten.log1p", unary(r, "aten.exp", scaled)), r.argument("beta"));
  return {r.result(r.b.where(r.b.gt(scaled, r.argument("threshold")), x, soft))};
}

Replacement mish(Rewrite& r) {
  const Value x = input(r);
  return {r.result(r.b.mul(x, unary(r, "aten.tanh", unary(r, "aten.log1p", unary(r, "aten.exp", x)))))};
}

Replacement log_sigmoid(Rewrite& r) {
  const Value x = input(r);
  const Value decay = unary(r, "aten.exp", r.b.neg(unary(r, "aten.abs", x)));
  const Value y = r.b.sub(r.b.call("aten.minimum", {x, kZero}), unary(r, "aten.log1p", decay));
  // The second result helps the backward: some devices leave it empty.
  const TensorMeta& buffer = r.out(1);
  const bool is_empty = buffer.rank() == 1 && buffer.sizes[0].is_integer(0);
  return {r.result(y), is_empty ? r.b.full(buffer.sizes, kZero, buffer.dtype, buffer.device) : r.result(decay, 1)};
}

Replacement prelu(Rewrite& r) {
  const Value x = r.tensor("self");
  return {r.result(r.b.where(r.b.gt(x, kZero), x, r.b.mul(r.tensor("weight"), x)))};
}

Replacement threshold(Rewrite& r) {
  const Value x = r.tensor("self");
  return {r.result(r.b.where(r.b.le(x, r.argument("threshold")), r.argument("value"), x))};
}

Replacement rrelu(Rewrite& r) {
  if (r.flag("training")) return {};
  const double slope = (r.number("lower") + r.number("upper")) / 2;
  const Value x = input(r);
  return {r.result(r.b.where(r.b.gt(x, kZero), x, r.b.mul(x, slope))), r.tensor("noise")};
}

Replacement softshrink(Rewrite& r) {
  const Value x = r.tensor("self");
  const double lambda = r.number("lambd");
  // Between the bounds 0, and NaN for NaN.
  const Value inside = r.b.where(r.b.lt(x, -lambda), r.b.add(x, lambda), r.b.mul(x, kZero));
  return {r.result(r.b.where(r.b.gt(x, lambda), r.b.sub(x, lambda), inside))};
}

Replacement hardshrink(Rewrite& r) {
  const Value x = r.tensor("self");
  const double lambda = r.number("lambd");
  const Value is_inside = r.b.call("aten.logical_and", {r.b.ge(x, -lambda), r.b.le(x, lambda)});
  return {r.result(r.b.where(is_inside, kZero, x))};
}

Replacement glu(Rewrite& r) {
  const Value x = r.tensor("self");
  const int64_t dim = r.dim("dim", x.meta().rank());
  const Expr half = r.out().sizes[dim];
  const Value a = r.opmath(r.b.slice(x, dim, r.constant(0), half)), b = r.opmath(r.b.slice(x, dim, half, half * 2));
  return {r.result(r.b.mul(a, unary(r, "aten.sigmoid", b)))};
}

constexpr Decomposition kRows[] = {
    {"aten.silu", silu},
    {"aten.gelu", gelu},
    {"aten.hardsigmoid", hardsigmoid},
    {"aten.hardswish", hardswish},
    {"aten.hardtanh", hardtanh},
    {"aten.relu6", relu6},
    {"aten.leaky_relu", leaky_relu},
    {"aten.elu", elu},
    {"aten.celu", celu},
    {"aten.selu", selu},
    {"aten.softplus", softplus},
    {"aten.mish", mish},
    {"aten.log_sigmoid_forward", log_sigmoid},
    {"aten._prelu_kernel", prelu},
    {"aten.threshold", threshold},
    {"aten.rrelu_with_noise_functional", rrelu},
    {"aten.softshrink", softshrink},
    {"aten.hardshrink", hardshrink},
    {"aten.glu", glu},
};

}  // namespace

std::span<const Decomposition> activation_decompositions() { return kRows; }

}  // namespace litz
