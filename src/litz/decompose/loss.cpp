// Losses and their derivatives. Reduction 0 gives every element, 1 the mean, 2 the sum.
#include <limits>

#include "litz/decompose/decompose.h"

namespace litz {
namespace {

constexpr int64_t kZero = 0, kNone = 0, kMean = 1;

Value reduced(Rewrite& r, Value loss) {
  const int64_t reduction = r.integer("reduction");
  if (reduction == kNone) return loss;
  std::vector<int64_t> dims(loss.meta().rank());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  const Value total = dims.empty() ? loss : r.b.sum(loss, dims, false);
  if (reduction != kMean) return total;
  return r.b.div(total, GraphBuilder::size_argument(product(r.context(), loss.meta().sizes)));
}

Value x_of(Rewrite& r) { return r.opmath(r.tensor("self")); }
Value y_of(Rewrite& r) { return r.opmath(r.tensor("target")); }

/// The gradient of each element: divided by their number when the loss was a mean.
Value element_grad(Rewrite& r, const TensorMeta& self) {
  const Value grad = r.opmath(r.tensor("grad_output"));
  if (r.integer("reduction") != kMean) return grad;
  return r.b.div(grad, GraphBuilder::size_argument(product(r.context(), self.sizes)));
}

Replacement mse_loss(Rewrite& r) {
  const Value d = r.b.sub(x_of(r), y_of(r));
  return {r.result(reduced(r, r.b.mul(d, d)))};
}

Replacement mse_loss_backward(Rewrite& r) {
  const Value d = r.b.sub(x_of(r), y_of(r));
  return {r.result(r.b.mul(r.b.mul(d, int64_t{2}), element_grad(r, d.meta())))};
}

Replacement smooth_l1_loss(Rewrite& r) {
  const double beta = r.number("beta");
  const Value d = r.b.call("aten.abs", {r.b.sub(x_of(r), y_of(r))});
  if (beta == 0) return {r.result(reduced(r, d))};
  const Value square = r.b.div(r.b.mul(r.b.mul(d, 0.5), d), beta);
  return {r.result(reduced(r, r.b.where(r.b.lt(d, beta), square, r.b.sub(d, 0.5 * beta))))};
}

Replacement smooth_l1_loss_backward(Rewrite& r) {
  const double beta = r.number("beta");
  const Value d = r.b.sub(x_of(r), y_of(r));
  const Value grad = element_grad(r, d.meta());
  const Value sign = r.b.call("aten.sign", {d});
  Value slope = sign;
  if (beta != 0) slope = r.b.where(r.b.lt(r.b.call("aten.abs", {d}), beta), r.b.div(d, beta), sign);
  return {r.result(r.b.mul(slope, grad))};
}

Replacement huber_loss(Rewrite& r) {
  const double delta = r.number("delta");
  const Value d = r.b.call("aten.abs", {r.b.sub(x_of(r), y_of(r))});
  const Value square = r.b.mul(r.b.mul(d, 0.5), d), linear = r.b.mul(r.b.sub(d, 0.5 * delta), delta);
  return {r.result(reduced(r, r.b.where(r.b.le(d, delta), square, linear)))};
}

Replacement huber_loss_backward(Rewrite& r) {
  const double delta = r.number("delta");
  const Value d = r.b.sub(x_of(r), y_of(r));
  const Value grad = element_grad(r, d.meta());
  const Value inside = r.b.where(r.b.lt(d, -delta), -delta, r.b.where(r.b.gt(d, delta), delta, d));
  return {r.result(r.b.mul(inside, grad))};
}

Replacement soft_margin_loss(Rewrite& r) {
  const Value z = r.b.call("aten.exp", {r.b.mul(r.b.neg(x_of(r)), y_of(r))});
  return {r.result(reduced(r, r.b.call("aten.log1p", {z})))};
}

Replacement bce_with_logits(Rewrite& r) {
  const Value x = x_of(r), y = y_of(r);
  const Value decay = r.b.call("aten.exp", {r.b.neg(r.b.call("aten.abs", {x}))});
  const Value log_sigmoid = r.b.sub(r.b.call("aten.minimum", {x, kZero}), r.b.call("aten.log1p", {decay}));
  Value weighted = log_sigmoid;
  if (const Value p = r.optional_tensor("pos_weight")) {
    const Value factor = r.b.add(r.b.mul(r.b.sub(r.opmath(p), int64_t{1}), y), int64_t{1});
    weighted = r.b.mul(factor, log_sigmoid);
  }
  Value loss = r.b.sub(r.b.mul(r.b.sub(int64_t{1}, y), x), weighted);
  if (const Value w = r.optional_tensor("weight")) loss = r.b.mul(loss, r.opmath(w));
  return {r.result(reduced(r, loss))};
}

Replacement bce_backward(Rewrite& r) {
  const Value x = x_of(r), y = y_of(r);
  const Value denominator = r.b.call("aten.maximum", {r.b.mul(r.b.sub(int64_t{1}, x), x), 1e-12});
  Value slope = r.b.div(r.b.sub(x, y), denominator);
  if (const Value w = r.optional_tensor("weight")) slope = r.b.mul(slope, r.opmath(w));
  return {r.result(r.b.mul(slope, element_grad(r, x.meta())))};
}

int64_t channel_dim(Value self) { return self.meta().rank() < 2 ? 0 : 1; }

/// One entry a channel, shaped to broadcast.
Value per_channel(Rewrite& r, Value weight, Value self) {
  std::vector<Expr> sizes(self.meta().rank(), r.constant(1));
  sizes[channel_dim(self)] = self.meta().sizes[channel_dim(self)];
  return r.b.reshape(r.opmath(weight), sizes);
}

Replacement nll_loss(Rewrite& r) {
  const Value self = r.opmath(r.tensor("self")), target = r.tensor("target"), weight = r.optional_tensor("weight");
  const int64_t channel = channel_dim(self);
  const Value counts = r.b.ne(target, r.argument("ignore_index"));
  const Value safe = r.b.unsqueeze(r.b.where(counts, target, kZero), channel);
  auto picked = [&](Value from) {
    const Value v = r.b.call("aten.gather", {from, channel, safe});
    return r.b.where(counts, r.b.call("aten.squeeze.dims", {v, GraphBuilder::int_list({channel})}), 0.0);
  };
  const Value w = weight ? r.b.expand(per_channel(r, weight, self), self.meta().sizes) : weight;
  const Value loss = r.b.neg(picked(weight ? r.b.mul(self, w) : self));
  const int64_t reduction = r.integer("reduction");
  if (reduction == kNone && self.meta().rank() > 1) return {r.result(loss, 0), r.b.full({}, kZero, r.out(1).dtype, r.out(1).device)};
  std::vector<int64_t> all(target.meta().rank());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  auto total = [&](Value v) { return all.empty() ? v : r.b.sum(v, all, false); };
  const Value share = total(weight ? picked(w) : r.b.to(counts, self.meta().dtype));
  Value sum = total(loss);
  if (reduction == kMean) sum = r.b.div(sum, share);
  return {r.result(sum, 0), r.result(share, 1)};
}

Replacement nll_loss_backward(Rewrite& r) {
  const Value self = r.tensor("self"), target = r.tensor("target"), weight = r.optional_tensor("weight");
  const int64_t channel = channel_dim(self);
  Value grad = r.opmath(r.tensor("grad_output"));
  if (r.integer("reduction") == kMean) grad = r.b.div(grad, r.opmath(r.tensor("total_weight")));
  if (grad.meta().rank() > 0 && grad.meta().rank() < self.meta().rank()) grad = r.b.unsqueeze(grad, channel);
  if (weight) grad = r.b.mul(grad, per_channel(r, weight, self));
  const Value counts = r.b.ne(target, r.argument("ignore_index"));
  std::vector<Expr> sizes(self.meta().rank(), r.constant(1));
  sizes[channel] = self.meta().sizes[channel];
  const Value channels = r.b.reshape(r.b.iota(sizes[channel], r.out().device), sizes);
  const Value hit = r.b.call("aten.logical_and", {r.b.eq(channels, r.b.unsqueeze(target, channel)), r.b.unsqueeze(counts, channel)});
  return {r.result(r.b.where(hit, r.b.neg(grad), 0.0))};
}

constexpr Decomposition kRows[] = {
    {"aten.mse_loss", mse_loss},
    {"aten.mse_loss_backward", mse_loss_backward},
    {"aten.smooth_l1_loss", smooth_l1_loss},
    {"aten.smooth_l1_loss_backward", smooth_l1_loss_backward},
    {"aten.huber_loss", huber_loss},
    {"aten.huber_loss_backward", huber_loss_backward},
    {"aten.soft_margin_loss", soft_margin_loss},
    {"aten.binary_cross_entropy_with_logits", bce_with_logits},
    {"aten.binary_cross_entropy_backward", bce_backward},
    {"aten.nll_loss_forward", nll_loss},
    {"aten.nll_loss2d_forward", nll_loss},
    {"aten.nll_loss_backward", nll_loss_backward},
    {"aten.nll_loss2d_backward", nll_loss_backward},
};

}  // namespace

std::span<const Decomposition> loss_decompositions() { return kRows; }

}  // namespace litz
