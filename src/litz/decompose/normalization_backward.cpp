// Derivatives of the normalisations, in opmath. A result that the mask does not ask for is None.
#include <numeric>

#include "litz/decompose/decompose.h"

namespace litz {
namespace {

bool wants(Rewrite& r, size_t i) {
  return r.argument("output_mask").as<ArgumentList>()[i].as<bool>() && !r.out(static_cast<int>(i)).is_none;
}

std::vector<int64_t> range(size_t begin, size_t end) {
  std::vector<int64_t> dims(end - begin);
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(begin));
  return dims;
}

Value summed(Rewrite& r, Value x, std::span<const int64_t> dims, bool keep) { return dims.empty() ? x : r.b.sum(x, dims, keep); }

Expr count(Rewrite& r, Value x, std::span<const int64_t> dims) {
  Expr n = r.constant(1);
  for (int64_t d : dims) n = n * x.meta().sizes[d];
  return n;
}

Replacement layer_norm_backward(Rewrite& r) {
  const Value grad = r.opmath(r.tensor("grad_out")), x = r.opmath(r.tensor("input"));
  const Value mean = r.opmath(r.tensor("mean")), rstd = r.opmath(r.tensor("rstd"));
  const Value weight = r.optional_tensor("weight");
  const size_t rank = x.meta().rank(), inner = r.sizes("normalized_shape").size();
  const auto inner_dims = range(rank - inner, rank), outer_dims = range(0, rank - inner);
  const Value hat = r.b.mul(r.b.sub(x, mean), rstd);
  Replacement values(3);
  if (wants(r, 0)) {
    const Argument n = GraphBuilder::size_argument(count(r, x, inner_dims));
    const Value g = weight ? r.b.mul(grad, r.opmath(weight)) : grad;
    const Value sum = summed(r, g, inner_dims, true), along = summed(r, r.b.mul(g, hat), inner_dims, true);
    const Value rest = r.b.sub(r.b.sub(r.b.mul(g, n), sum), r.b.mul(hat, along));
    values[0] = r.result(r.b.mul(r.b.div(rstd, n), rest), 0);
  }
  if (wants(r, 1) && weight) values[1] = r.result(summed(r, r.b.mul(grad, hat), outer_dims, false), 1);
  if (wants(r, 2)) values[2] = r.result(summed(r, grad, outer_dims, false), 2);
  return values;
}

Replacement rms_norm_backward(Rewrite& r) {
  const Value grad = r.opmath(r.tensor("grad_out")), x = r.opmath(r.tensor("input")), rstd = r.opmath(r.tensor("rstd"));
  const Value weight = r.optional_tensor("weight");
  const size_t rank = x.meta().rank(), inner = r.sizes("normalized_shape").size();
  const auto inner_dims = range(rank - inner, rank), outer_dims = range(0, rank - inner);
  const Value hat = r.b.mul(x, rstd);
  Replacement values(2);
  if (wants(r, 0)) {
    const Argument n = GraphBuilder::size_argument(count(r, x, inner_dims));
    const Value g = weight ? r.b.mul(grad, r.opmath(weight)) : grad;
    const Value along = r.b.div(summed(r, r.b.mul(g, hat), inner_dims, true), n);
    values[0] = r.result(r.b.mul(r.b.sub(g, r.b.mul(hat, along)), rstd), 0);
  }
  if (wants(r, 1) && weight) values[1] = r.result(summed(r, r.b.mul(grad, hat), outer_dims, false), 1);
  return values;
}

Replacement batch_norm_backward_with(Rewrite& r, bool train) {
  const Value grad = r.opmath(r.tensor("grad_out")), x = r.opmath(r.tensor("input"));
  const Value weight = r.optional_tensor("weight");
  std::vector<Expr> channel(x.meta().rank(), r.constant(1));
  channel[1] = x.meta().sizes[1];
  std::vector<int64_t> dims{0};
  for (size_t i = 2; i < x.meta().rank(); ++i) dims.push_back(static_cast<int64_t>(i));
  const char* saved_rstd = r.node.op->argument_index("save_invstd") >= 0 ? "save_invstd" : "save_var";
  if (!r.optional_tensor(train ? "save_mean" : "running_mean")) return {};
  const Value mean = r.opmath(r.tensor(train ? "save_mean" : "running_mean"));
  const Value rstd =
      train ? r.opmath(r.tensor(saved_rstd)) : r.b.call("aten.rsqrt", {r.b.add(r.opmath(r.tensor("running_var")), r.number("eps"))});
  auto shaped = [&](Value v) { return r.b.reshape(v, channel); };
  const Value centered = r.b.sub(x, shaped(mean));
  const Value sum = r.b.sum(grad, dims, false), along = r.b.sum(r.b.mul(grad, centered), dims, false);
  Replacement values(r.node.outputs.size());
  if (wants(r, 0)) {
    const Argument n = GraphBuilder::size_argument(count(r, x, dims));
    const Value scale = weight ? r.b.mul(rstd, r.opmath(weight)) : rstd;
    Value g = grad;
    if (train) {
      const Value projection = r.b.mul(r.b.div(along, n), r.b.mul(rstd, rstd));
      g = r.b.sub(r.b.sub(grad, r.b.mul(centered, shaped(projection))), shaped(r.b.div(sum, n)));
    }
    values[0] = r.result(r.b.mul(g, shaped(scale)), 0);
  }
  if (wants(r, 1)) values[1] = r.result(r.b.mul(along, rstd), 1);
  if (wants(r, 2)) values[2] = r.result(sum, 2);
  return values;
}

Replacement batch_norm_backward(Rewrite& r) {
  return batch_norm_backward_with(r, r.flag(r.node.op->argument_index("train") >= 0 ? "train" : "update"));
}

Replacement group_norm_backward(Rewrite& r) {
  const Value grad_out = r.opmath(r.tensor("grad_out")), input = r.opmath(r.tensor("input"));
  const Value mean = r.opmath(r.tensor("mean")), rstd = r.opmath(r.tensor("rstd")), weight = r.optional_tensor("weight");
  const Expr n = r.sizes("N")[0], c = r.sizes("C")[0], hw = r.sizes("HxW")[0], one = r.constant(1);
  const Expr groups = r.constant(r.integer("group")), per_group = floor_div(c, groups);
  const Expr full[] = {n, groups, per_group, hw};
  const int64_t last[] = {3}, channels[] = {2}, batch[] = {0};
  const Value grad = r.b.reshape(grad_out, full), x = r.b.reshape(input, full);
  const Value along = r.b.sum(r.b.mul(grad, x), last, false), sum = r.b.sum(grad, last, false);  // [n, groups, per_group]
  auto unsqueezed = [&](Value v, int times) {
    for (int i = 0; i < times; ++i) v = r.b.unsqueeze(v, -1);
    return v;
  };
  Replacement values(3);
  if (wants(r, 0)) {
    Value a = along, s = sum, scale = unsqueezed(rstd, 1);
    if (weight) {
      const Expr weight_sizes[] = {one, groups, per_group};
      const Value w = r.b.reshape(r.opmath(weight), weight_sizes);
      a = r.b.mul(a, w);
      s = r.b.mul(s, w);
      scale = r.b.mul(scale, w);
    }
    a = r.b.sum(a, channels, false);
    s = r.b.sum(s, channels, false);
    const Argument count = GraphBuilder::size_argument(per_group * hw);
    const Value cube = r.b.mul(r.b.mul(rstd, rstd), rstd);
    const Value c2 = r.b.div(r.b.mul(r.b.sub(r.b.mul(s, mean), a), cube), count);
    const Value c3 = r.b.sub(r.b.neg(r.b.mul(c2, mean)), r.b.div(r.b.mul(s, rstd), count));
    const Value dx = r.b.add(r.b.add(r.b.mul(grad, unsqueezed(scale, 1)), r.b.mul(x, unsqueezed(c2, 2))), unsqueezed(c3, 2));
    values[0] = r.result(r.b.reshape(dx, input.meta().sizes), 0);
  }
  if (wants(r, 1)) {
    const Value d = r.b.mul(r.b.sub(along, r.b.mul(sum, unsqueezed(mean, 1))), unsqueezed(rstd, 1));
    values[1] = r.result(r.b.reshape(r.b.sum(d, batch, false), std::span(&c, 1)), 1);
  }
  if (wants(r, 2)) values[2] = r.result(r.b.reshape(r.b.sum(sum, batch, false), std::span(&c, 1)), 2);
  return values;
}

constexpr Decomposition kRows[] = {
    {"aten.native_layer_norm_backward", layer_norm_backward},
    {"aten._fused_rms_norm_backward", rms_norm_backward},
    {"aten.native_batch_norm_backward", batch_norm_backward},
    {"aten.native_group_norm_backward", group_norm_backward},
};

}  // namespace

std::span<const Decomposition> normalization_backward_decompositions() { return kRows; }

}  // namespace litz
