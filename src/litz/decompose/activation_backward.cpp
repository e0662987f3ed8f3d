// Derivatives of the activations, with eager's formulas, in opmath. For NaN they follow eager's vector code (its scalar code, which
// finishes a row, differs in some): every comparison stands as there.
#include <limits>
#include <numbers>

#include "litz/decompose/decompose.h"

namespace litz {
namespace {

constexpr int64_t kZero = 0, kOne = 1;

Value unary(Rewrite& r, const char* op, Value x) { return r.b.call(op, {x}); }
Value grad_of(Rewrite& r) { return r.opmath(r.tensor("grad_output")); }
Value input(Rewrite& r) { return r.opmath(r.tensor("self")); }
Value both(Rewrite& r, Value a, Value b) { return r.b.call("aten.logical_and", {a, b}); }

Replacement tanh_backward(Rewrite& r) {
  if (is_complex(r.out().dtype)) return {};
  const Value y = r.opmath(r.tensor("output"));
  return {r.result(r.b.mul(grad_of(r), r.b.sub(kOne, r.b.mul(y, y))))};
}

Replacement sigmoid_backward(Rewrite& r) {
  if (is_complex(r.out().dtype)) return {};
  const Value y = r.opmath(r.tensor("output"));
  return {r.result(r.b.mul(r.b.mul(grad_of(r), r.b.sub(kOne, y)), y))};
}

Replacement gelu_backward(Rewrite& r) {
  const Value x = input(r), grad = grad_of(r);
  if (r.text("approximate") == "tanh") {
    constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kKappa = 0.044715;
    const Value square = r.b.mul(x, x);
    const Value inner = r.b.mul(r.b.add(x, r.b.mul(r.b.mul(square, x), kKappa)), kBeta);
    const Value tanh = unary(r, "aten.tanh", inner);
    const Value left = r.b.mul(x, 0.5), right = r.b.add(tanh, kOne);
    const Value left_derivative = r.b.mul(right, 0.5);
    const Value tanh_derivative = r.b.sub(kOne, r.b.mul(tanh, tanh));
    const Value inner_derivative = r.b.mul(r.b.add(r.b.mul(square, 3 * kKappa), kOne), kBeta);
    const Value right_derivative = r.b.mul(r.b.mul(left, tanh_derivative), inner_derivative);
    return {r.result(r.b.mul(grad, r.b.add(left_derivative, right_derivative)))};
  }
  constexpr double kAlpha = std::numbers::sqrt2 / 2, kDensity = std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2;
  const Value cdf = r.b.mul(r.b.add(unary(r, "aten.erf", r.b.mul(x, kAlpha)), kOne), 0.5);
  const Value pdf = r.b.mul(unary(r, "aten.exp", r.b.mul(r.b.mul(x, x), -0.5)), kDensity);
  return {r.result(r.b.mul(grad, r.b.add(cdf, r.b.mul(x, pdf))))};
}

Replacement silu_backward(Rewrite& r) {
  const Value x = input(r), grad = grad_of(r);
  const Value s = unary(r, "aten.sigmoid", x);
  const Value slope = r.b.add(r.b.mul(x, r.b.sub(kOne, s)), kOne);
  return {r.result(r.b.mul(r.b.mul(grad, s), slope))};
}

Replacement threshold_backward(Rewrite& r) {
  return {r.result(r.b.where(r.b.le(r.tensor("self"), r.argument("threshold")), kZero, r.tensor("grad_output")))};
}

Replacement hardsigmoid_backward(Rewrite& r) {
  const Value x = input(r);
  const Value inside = both(r, r.b.gt(x, int64_t{-3}), r.b.lt(x, int64_t{3}));
  return {r.result(r.b.where(inside, r.b.mul(grad_of(r), 1.0 / 6), kZero))};
}

Replacement hardswish_backward(Rewrite& r) {
  const Value x = input(r), grad = grad_of(r);
  const Value middle = r.b.mul(grad, r.b.add(r.b.div(x, int64_t{3}), 0.5));
  const Value upper = r.b.where(r.b.ge(x, int64_t{3}), grad, middle);
  return {r.result(r.b.where(r.b.le(x, int64_t{-3}), kZero, upper))};
}

Replacement hardtanh_backward(Rewrite& r) {
  const Value x = input(r);
  const Value inside = both(r, r.b.gt(x, r.argument("min_val")), r.b.lt(x, r.argument("max_val")));
  return {r.result(r.b.where(inside, grad_of(r), kZero))};
}

Replacement leaky_relu_backward(Rewrite& r) {
  const Value x = input(r), grad = grad_of(r);
  return {r.result(r.b.where(r.b.gt(x, kZero), grad, r.b.mul(grad, r.argument("negative_slope"))))};
}

Replacement elu_backward(Rewrite& r) {
  const Value x = r.opmath(r.tensor("self_or_result")), grad = grad_of(r);
  const double negative = r.number("alpha") * r.number("scale"), positive = r.number("scale"), slope = r.number("input_scale");
  const Value below = r.flag("is_result") ? r.b.mul(r.b.mul(grad, slope), r.b.add(x, negative))
                                          : r.b.mul(r.b.mul(grad, slope * negative), unary(r, "aten.exp", r.b.mul(x, slope)));
  return {r.result(r.b.where(r.b.gt(x, kZero), r.b.mul(grad, positive), below))};
}

Replacement softplus_backward(Rewrite& r) {
  const Value x = input(r), grad = grad_of(r);
  const Value scaled = r.b.mul(x, r.argument("beta"));
  const Value z = unary(r, "aten.exp", scaled);
  const Value soft = r.b.div(r.b.mul(grad, z), r.b.add(z, kOne));
  return {r.result(r.b.where(r.b.gt(scaled, r.argument("threshold")), grad, soft))};
}

Replacement mish_backward(Rewrite& r) {
  const Value x = input(r), grad = grad_of(r);
  const Value s = unary(r, "aten.sigmoid", x);
  const Value t = unary(r, "aten.tanh", unary(r, "aten.log1p", unary(r, "aten.exp", x)));
  const Value slope = r.b.mul(r.b.mul(x, s), r.b.sub(kOne, r.b.mul(t, t)));
  return {r.result(r.b.mul(grad, r.b.add(t, slope)))};
}

Replacement log_sigmoid_backward(Rewrite& r) {
  const Value x = input(r), grad = grad_of(r);
  const Value z = unary(r, "aten.exp", r.b.neg(unary(r, "aten.abs", x)));
  const Value is_negative = r.b.lt(x, kZero);
  const Value most = r.b.where(is_negative, 1.0, 0.0), sign = r.b.where(is_negative, 1.0, -1.0);
  const Value slope = r.b.sub(most, r.b.mul(sign, r.b.div(z, r.b.add(z, kOne))));
  return {r.result(r.b.mul(grad, slope))};
}

Replacement prelu_backward(Rewrite& r) {
  const Value x = r.tensor("self"), weight = r.tensor("weight"), grad = r.tensor("grad_output");
  const Value is_positive = r.b.gt(x, kZero);
  return {r.result(r.b.where(is_positive, grad, r.b.mul(weight, grad)), 0), r.result(r.b.where(is_positive, 0.0, r.b.mul(x, grad)), 1)};
}

Replacement shrink_backward(Rewrite& r) {
  const Value x = r.tensor("self"), grad = r.tensor(r.node.op->arguments[0].name);
  const double lambda = r.number("lambd");
  const Value outside = r.b.call("aten.logical_or", {r.b.lt(x, -lambda), r.b.gt(x, lambda)});
  return {r.result(r.b.where(outside, grad, kZero))};
}

Replacement glu_backward(Rewrite& r) {
  const Value x = r.tensor("self"), grad = grad_of(r);
  const int64_t dim = r.dim("dim", x.meta().rank());
  const Expr half = grad.meta().sizes[dim];
  const Value a = r.opmath(r.b.slice(x, dim, r.constant(0), half)), b = r.opmath(r.b.slice(x, dim, half, half * 2));
  const Value s = unary(r, "aten.sigmoid", b);
  const Value first = r.b.mul(s, grad);
  const Value second = r.b.mul(r.b.mul(r.b.mul(r.b.sub(kOne, s), s), a), grad);
  return {r.result(r.b.call("aten.cat", {ArgumentList{r.result(first), r.result(second)}, dim}))};
}

Replacement logit_backward(Rewrite& r) {
  const Value x = input(r), grad = grad_of(r);
  const Value slope = r.b.div(grad, r.b.mul(x, r.b.sub(kOne, x)));
  if (!r.has("eps") || r.number("eps") < 0) {
    const Value outside = r.b.call("aten.logical_or", {r.b.lt(x, kZero), r.b.gt(x, kOne)});
    return {r.result(r.b.where(outside, std::numeric_limits<double>::quiet_NaN(), slope))};
  }
  const double eps = r.number("eps");
  const Value outside = r.b.call("aten.logical_or", {r.b.lt(x, eps), r.b.gt(x, 1.0 - eps)});
  return {r.result(r.b.where(outside, kZero, slope))};
}

Replacement dropout_backward(Rewrite& r) {
  const Value mask = r.b.to(r.tensor("mask"), r.out().dtype);
  return {r.result(r.b.mul(r.b.mul(r.tensor("grad_output"), mask), r.argument("scale")))};
}

/// In evaluation the input passes and the mask is all true; in training the op draws numbers and stays.
Replacement dropout(Rewrite& r) {
  const Argument& train = r.argument("train");
  if (!train.is<bool>() || train.as<bool>()) return {};
  return {r.tensor("input"), r.b.full(r.out(1).sizes, true, r.out(1).dtype, r.out(1).device)};
}

constexpr Decomposition kRows[] = {
    {"aten.tanh_backward", tanh_backward},
    {"aten.sigmoid_backward", sigmoid_backward},
    {"aten.gelu_backward", gelu_backward},
    {"aten.silu_backward", silu_backward},
    {"aten.threshold_backward", threshold_backward},
    {"aten.hardsigmoid_backward", hardsigmoid_backward},
    {"aten.hardswish_backward", hardswish_backward},
    {"aten.hardtanh_backward", hardtanh_backward},
    {"aten.leaky_relu_backward", leaky_relu_backward},
    {"aten.elu_backward", elu_backward},
    {"aten.softplus_backward", softplus_backward},
    {"aten.mish_backward", mish_backward},
    {"aten.log_sigmoid_backward", log_sigmoid_backward},
    {"aten._prelu_kernel_backward", prelu_backward},
    {"aten.softshrink_backward", shrink_backward},
    {"aten.hardshrink_backward", shrink_backward},
    {"aten.glu_backward", glu_backward},
    {"aten.logit_backward", logit_backward},
    {"aten.native_dropout_backward", dropout_backward},
    {"aten.native_dropout", dropout},
};

}  // namespace

std::span<const Decomposition> activation_backward_decompositions() { return kRows; }

}  // namespace litz
