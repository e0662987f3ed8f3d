// Layer, group, batch and RMS normalisation. Statistics in opmath, rounded to the type that eager gives them.
#include <limits>
#include <numeric>

#include "litz/decompose/decompose.h"

namespace litz {
namespace {

std::vector<int64_t> range(size_t begin, size_t end) {
  std::vector<int64_t> dims(end - begin);
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(begin));
  return dims;
}

Value rsqrt_plus(Rewrite& r, Value x, double eps) { return r.b.call("aten.rsqrt", {r.b.add(x, eps)}); }

struct Moments {
  Value mean, variance;  // dims kept
};
Moments moments(Rewrite& r, Value x, std::span<const int64_t> dims) {
  Node* n = r.b.node("aten.var_mean.correction", {x, GraphBuilder::int_list(dims), int64_t{0}, true});
  return {n->value(1), n->value(0)};
}

Value scaled(Rewrite& r, Value y, Value weight, Value bias) {
  if (weight) y = r.b.mul(y, r.opmath(weight));
  if (bias) y = r.b.add(y, r.opmath(bias));
  return y;
}

Replacement layer_norm(Rewrite& r) {
  const Value input = r.tensor("input");
  const Value x = r.opmath(input);
  const size_t inner = r.sizes("normalized_shape").size();
  const Moments m = moments(r, x, range(x.meta().rank() - inner, x.meta().rank()));
  const Value rstd = rsqrt_plus(r, m.variance, r.number("eps"));
  const Value y = r.b.mul(r.b.sub(x, m.mean), rstd);
  return {r.result(scaled(r, y, r.optional_tensor("weight"), r.optional_tensor("bias")), 0), r.result(m.mean, 1), r.result(rstd, 2)};
}

Replacement rms_norm(Rewrite& r) {
  const Value input = r.tensor("input");
  const Value x = r.opmath(input);
  const size_t rank = x.meta().rank(), inner = r.sizes("normalized_shape").size();
  const auto dims = range(rank - inner, rank);
  Expr n = r.constant(1);
  for (int64_t d : dims) n = n * x.meta().sizes[d];
  const double default_eps =
      x.meta().dtype == DType::kFloat64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const double eps = r.has("eps") ? r.number("eps") : default_eps;
  const Value square = r.b.div(r.b.sum(r.b.mul(x, x), dims, true), GraphBuilder::size_argument(n));
  const Value rstd = rsqrt_plus(r, square, eps);
  return {r.result(scaled(r, r.b.mul(x, rstd), r.optional_tensor("weight"), {}), 0), r.result(rstd, 1)};
}

Replacement group_norm(Rewrite& r) {
  const Value input = r.tensor("input");
  const Value x = r.opmath(input);
  const Expr n = r.sizes("N")[0], c = r.sizes("C")[0], hw = r.sizes("HxW")[0];
  const int64_t groups = r.integer("group");
  const Expr per_group = floor_div(c, r.constant(groups)) * hw;
  const Expr grouped_sizes[] = {n, r.constant(groups), per_group};
  const Value grouped = r.b.reshape(x, grouped_sizes);
  const int64_t inner[] = {2};
  const Moments m = moments(r, grouped, inner);
  const Value rstd = rsqrt_plus(r, m.variance, r.number("eps"));
  Value y = r.b.reshape(r.b.mul(r.b.sub(grouped, m.mean), rstd), x.meta().sizes);
  std::vector<Expr> channel(x.meta().rank(), r.constant(1));
  channel[1] = c;
  auto per_channel = [&](const char* name) {
    const Value v = r.optional_tensor(name);
    return v ? r.b.reshape(v, channel) : v;
  };
  y = scaled(r, y, per_channel("weight"), per_channel("bias"));
  const Expr stats[] = {n, r.constant(groups)};
  return {r.result(y, 0), r.result(r.b.reshape(m.mean, stats), 1), r.result(r.b.reshape(rstd, stats), 2)};
}

std::vector<Expr> channel_sizes(Rewrite& r, Value x) {
  std::vector<Expr> sizes(x.meta().rank(), r.constant(1));
  sizes[1] = x.meta().sizes[1];
  return sizes;
}

std::vector<int64_t> all_but_channel(Value x) {
  std::vector<int64_t> dims{0};
  for (size_t i = 2; i < x.meta().rank(); ++i) dims.push_back(static_cast<int64_t>(i));
  return dims;
}

double eps_of(Rewrite& r) { return r.number(r.node.op->argument_index("eps") >= 0 ? "eps" : "epsilon"); }

/// x * alpha + beta with one alpha and beta a channel, as eager computes it.
Value normalize(Rewrite& r, Value x, Value mean, Value rstd, Value weight, Value bias) {
  const auto channel = channel_sizes(r, x);
  auto shaped = [&](Value v) { return r.b.reshape(v, channel); };
  const Value alpha = weight ? r.b.mul(rstd, r.opmath(weight)) : rstd;
  Value beta = r.b.neg(r.b.mul(mean, alpha));
  if (bias) beta = r.b.add(r.opmath(bias), beta);
  return r.b.add(r.b.mul(x, shaped(alpha)), shaped(beta));
}

/// Statistics that evaluation does not compute: eager gives empty tensors, or the running ones.
Value unused_statistic(Rewrite& r, int i, Value value) {
  const TensorMeta& m = r.out(i);
  if (m.rank() == 1 && m.sizes[0].is_integer(0)) return r.b.full(m.sizes, int64_t{0}, m.dtype, m.device);
  return value ? r.result(value, i) : Value{};
}

Replacement batch_norm_with(Rewrite& r, Value running_mean, Value running_var) {
  const Value x = r.opmath(r.tensor("input"));
  const Value mean = r.opmath(running_mean);
  const Value rstd = rsqrt_plus(r, r.opmath(running_var), eps_of(r));
  Replacement values{r.result(normalize(r, x, mean, rstd, r.optional_tensor("weight"), r.optional_tensor("bias")), 0)};
  values.push_back(unused_statistic(r, 1, mean));
  values.push_back(unused_statistic(r, 2, rstd));
  for (size_t i = 3; i < r.node.outputs.size(); ++i) values.push_back(unused_statistic(r, static_cast<int>(i), {}));
  return values;
}

Replacement batch_norm_from_batch(Rewrite& r) {
  const Value x = r.opmath(r.tensor("input"));
  const auto dims = all_but_channel(x);
  const Moments m = moments(r, x, dims);
  const Expr channels = x.meta().sizes[1];
  auto flat = [&](Value v) { return r.b.reshape(v, std::span(&channels, 1)); };
  const Value mean = flat(m.mean), variance = flat(m.variance);
  const Value rstd = rsqrt_plus(r, variance, eps_of(r));
  const Value y = normalize(r, x, mean, rstd, r.optional_tensor("weight"), r.optional_tensor("bias"));
  Replacement values{r.result(y, 0), r.result(mean, 1), r.result(rstd, 2)};
  size_t next = 3;
  if (r.node.op->name == "aten._batch_norm_with_update_functional") values.push_back(unused_statistic(r, 3, {})), ++next;
  if (r.node.outputs.size() >= next + 2) {
    Expr n = r.constant(1);
    for (int64_t d : dims) n = n * x.meta().sizes[d];
    const double momentum = r.number("momentum");
    // The running variance is the unbiased one.
    const Value count = r.b.full({}, GraphBuilder::size_argument(n), variance.meta().dtype, x.meta().device);
    const Value unbiased = r.b.mul(variance, r.b.div(count, GraphBuilder::size_argument(n - 1)));
    auto updated = [&](Value running, Value batch) {
      return r.b.add(r.b.mul(batch, momentum), r.b.mul(r.opmath(running), 1.0 - momentum));
    };
    const int i = static_cast<int>(next);
    values.push_back(r.result(updated(r.tensor("running_mean"), mean), i));
    values.push_back(r.result(updated(r.tensor("running_var"), unbiased), i + 1));
  }
  return values;
}

Replacement batch_norm_inference(Rewrite& r) { return batch_norm_with(r, r.tensor("running_mean"), r.tensor("running_var")); }

/// Ops that are told whether to train. With running statistics, training writes them although some schemas hide it: those stay.
Replacement batch_norm(Rewrite& r) {
  const Value mean = r.node.op->argument_index("running_mean") >= 0 ? r.optional_tensor("running_mean") : Value{};
  if (!r.flag("training") && mean) return batch_norm_inference(r);
  if (mean || r.node.outputs.size() != 3 || r.node.op->is_mutating) return {};
  return batch_norm_from_batch(r);
}

Replacement functional_batch_norm(Rewrite& r) {
  if (r.flag("training")) return batch_norm_from_batch(r);
  Replacement values = batch_norm_with(r, r.tensor("running_mean"), r.tensor("running_var"));
  // As they are; on some devices the metadata speak of a wider type.
  auto running = [&](const char* name, int i) {
    const Value value = r.tensor(name);
    return value.meta().dtype == r.out(i).dtype ? value : r.result(r.opmath(value), i);
  };
  values[3] = running("running_mean", 3);
  values[4] = running("running_var", 4);
  return values;
}

/// Every dimension but the one that the op names.
std::vector<int64_t> every_other(Rewrite& r, Value v) {
  const size_t rank = v.meta().rank();
  std::vector<int64_t> dims = range(0, rank);
  std::erase(dims, r.dim("dim", rank));
  return dims;
}

/// v scaled so that its slices along `dim` have the norms g: v g / |v|, and |v|.
Replacement weight_norm(Rewrite& r) {
  const Value v = r.opmath(r.tensor("v"));
  const Value norm = r.b.call("aten.sqrt", {r.b.sum(r.b.mul(v, v), every_other(r, v), true)});
  return {r.result(r.b.mul(v, r.b.div(r.opmath(r.tensor("g")), norm)), 0), r.result(norm, 1)};
}

/// Of s = sum(grad v) / |v|: the gradient of v is g / |v| (grad - v s / |v|), that of g is s.
Replacement weight_norm_backward(Rewrite& r) {
  const Value grad = r.opmath(r.tensor("grad_w")), v = r.opmath(r.tensor("saved_v"));
  const Value g = r.opmath(r.tensor("saved_g")), norm = r.opmath(r.tensor("saved_norms"));
  const Value s = r.b.div(r.b.sum(r.b.mul(grad, v), every_other(r, v), true), norm);
  return {r.result(r.b.mul(r.b.div(g, norm), r.b.sub(grad, r.b.mul(v, r.b.div(s, norm)))), 0), r.result(s, 1)};
}

constexpr Decomposition kRows[] = {
    {"aten._weight_norm_interface", weight_norm},
    {"aten._weight_norm_interface_backward", weight_norm_backward},
    {"aten.native_layer_norm", layer_norm},
    {"aten._fused_rms_norm", rms_norm},
    {"aten.native_group_norm", group_norm},
    {"aten._native_batch_norm_legit_no_training", batch_norm_inference},
    {"aten._batch_norm_no_update", batch_norm_inference},
    {"aten._native_batch_norm_legit.no_stats", batch_norm},
    {"aten.native_batch_norm", batch_norm},
    {"aten.cudnn_batch_norm", batch_norm},
    {"aten.miopen_batch_norm", batch_norm},
    {"aten._native_batch_norm_legit_functional", functional_batch_norm},
    {"aten._batch_norm_with_update_functional", batch_norm_from_batch},
};

}  // namespace

std::span<const Decomposition> normalization_decompositions() { return kRows; }

}  // namespace litz
