// Ops that only move elements.
#include <algorithm>

#include "litz/decompose/indexing.h"
#include "litz/graph/shape_rules.h"

namespace litz {
namespace {

Replacement stack(Rewrite& r) {
  const int64_t dim = wrap_dim(r.integer("dim"), r.out().rank());
  ArgumentList parts;
  for (Value v : r.tensors("tensors")) parts.push_back(r.b.unsqueeze(v, dim));
  return {r.b.call("aten.cat", {parts, dim})};
}

/// Dimensions of size 1 are dropped by expand and reshape: [a, b] -> [n, a, m, b] -> [n*a, m*b].
Replacement repeat(Rewrite& r) {
  const Value x = r.tensor("self");
  const auto repeats = r.sizes("repeats");
  const size_t extra = repeats.size() - x.meta().rank();
  std::vector<Expr> before, expanded;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const Expr size = i < extra ? r.constant(1) : x.meta().sizes[i - extra];
    before.insert(before.end(), {r.constant(1), size});
    expanded.insert(expanded.end(), {repeats[i], size});
  }
  return {r.b.reshape(r.b.expand(r.b.reshape(x, before), expanded), r.out().sizes)};
}

Replacement repeat_interleave(Rewrite& r) {
  Value x = r.tensor("self");
  if (!r.has("dim")) {
    const Expr n = product(r.context(), x.meta().sizes);
    x = r.b.reshape(x, std::span(&n, 1));
  }
  if (x.meta().rank() == 0) return {};
  const int64_t dim = r.has("dim") ? r.dim("dim", x.meta().rank()) : 0;
  std::vector<Expr> before = x.meta().sizes;
  before.insert(before.begin() + dim + 1, r.constant(1));
  std::vector<Expr> expanded = before;
  expanded[dim + 1] = r.sizes("repeats")[0];
  return {r.b.reshape(r.b.expand(r.b.reshape(x, before), expanded), r.out().sizes)};
}

/// Splits the last three sizes, permutes, joins.
Replacement shuffle_pixels(Rewrite& r, bool up) {
  const Value x = r.tensor("self");
  const size_t rank = x.meta().rank(), batch = rank - 3;
  const Expr f = r.constant(r.integer(up ? "upscale_factor" : "downscale_factor"));
  const auto& sizes = x.meta().sizes;
  std::vector<Expr> split(sizes.begin(), sizes.begin() + static_cast<int64_t>(batch));
  std::vector<int64_t> order(batch);
  for (size_t i = 0; i < batch; ++i) order[i] = static_cast<int64_t>(i);
  const Expr c = sizes[batch], h = sizes[batch + 1], w = sizes[batch + 2];
  if (up) split.insert(split.end(), {floor_div(c, f * f), f, f, h, w});
  else split.insert(split.end(), {c, floor_div(h, f), f, floor_div(w, f), f});
  const std::vector<int64_t> last = up ? std::vector<int64_t>{0, 3, 1, 4, 2} : std::vector<int64_t>{0, 2, 4, 1, 3};
  for (int64_t d : last) order.push_back(static_cast<int64_t>(batch) + d);
  return {r.b.reshape(r.b.permute(r.b.reshape(x, split), order), r.out().sizes)};
}
Replacement pixel_shuffle(Rewrite& r) { return shuffle_pixels(r, true); }
Replacement pixel_unshuffle(Rewrite& r) { return shuffle_pixels(r, false); }

Replacement channel_shuffle(Rewrite& r) {
  const Value x = r.tensor("self");
  const Expr groups = r.sizes("groups")[0];
  std::vector<Expr> split = x.meta().sizes;
  split[1] = floor_div(split[1], groups);
  split.insert(split.begin() + 1, groups);
  std::vector<int64_t> order(split.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[1], order[2]);
  return {r.b.reshape(r.b.permute(r.b.reshape(x, split), order), r.out().sizes)};
}

Value flattened(Rewrite& r, Value x) {
  const Expr n = product(r.context(), x.meta().sizes);
  return r.b.reshape(x, std::span(&n, 1));
}

Replacement roll(Rewrite& r) {
  if (!r.integers("dims").empty()) return {};
  const Value x = r.tensor("self");
  const Value rolled = r.b.call("aten.roll", {flattened(r, x), r.argument("shifts"), GraphBuilder::int_list({0})});
  return {r.b.reshape(rolled, x.meta().sizes)};
}

Value one_dimensional(Rewrite& r, Value index) { return index.meta().rank() == 0 ? r.b.unsqueeze(index, 0) : index; }

ArgumentList at_dim(int64_t dim, Value index) {
  ArgumentList list(static_cast<size_t>(dim), Argument(None{}));
  list.push_back(index);
  return list;
}

Replacement index_select(Rewrite& r) {
  const Value x = r.tensor("self");
  if (x.meta().rank() == 0) return {};
  const int64_t dim = r.dim("dim", x.meta().rank());
  return {r.b.call("aten.index.Tensor", {x, at_dim(dim, one_dimensional(r, r.tensor("index")))})};
}

Replacement index_write(Rewrite& r, Value values, bool accumulate) {
  const Value x = r.tensor("self");
  const int64_t dim = r.dim("dim", x.meta().rank());
  return {r.b.call("aten.index_put", {x, at_dim(dim, one_dimensional(r, r.tensor("index"))), values, accumulate})};
}

/// What is written at an index that is a number needs the dimension back.
Value source_of(Rewrite& r) {
  const Value source = r.tensor("source"), x = r.tensor("self");
  return source.meta().rank() + 1 == x.meta().rank() ? r.b.unsqueeze(source, r.dim("dim", x.meta().rank())) : source;
}

Replacement index_add(Rewrite& r) {
  if (r.tensor("self").meta().rank() == 0) return {};
  Value source = source_of(r);
  const Argument& alpha = r.argument("alpha");
  const bool is_one = (alpha.is<int64_t>() && alpha.as<int64_t>() == 1) || (alpha.is<double>() && alpha.as<double>() == 1.0);
  if (!is_one) source = r.b.mul(source, alpha);
  return index_write(r, source, true);
}

Replacement index_copy(Rewrite& r) {
  if (r.tensor("self").meta().rank() == 0) return {};
  return index_write(r, source_of(r), false);
}

Replacement index_fill(Rewrite& r) {
  if (r.tensor("self").meta().rank() == 0) return {};
  const Argument& value = r.argument("value");
  const DType type = r.out().dtype;
  return index_write(r, value.is<Value>() ? r.b.to(value.as<Value>(), type) : r.b.full({}, value, type, r.out().device), false);
}

Replacement take(Rewrite& r) {
  const Value x = flattened(r, r.tensor("self"));
  return {r.b.call("aten.index.Tensor", {x, ArgumentList{r.tensor("index")}})};
}

Replacement triangle(Rewrite& r, bool lower) {
  const Value x = r.tensor("self");
  const auto& sizes = x.meta().sizes;
  const size_t rank = sizes.size();
  const Value row = r.b.unsqueeze(r.b.iota(sizes[rank - 2], x.meta().device), 1);
  const Value column = r.b.iota(sizes[rank - 1], x.meta().device);
  const Value edge = r.b.add(row, r.argument("diagonal"));
  const Value is_kept = lower ? r.b.le(column, edge) : r.b.ge(column, edge);
  const Argument zero = x.meta().dtype == DType::kBool ? Argument(false) : Argument(int64_t{0});
  return {r.b.where(is_kept, x, zero)};
}
Replacement tril(Rewrite& r) { return triangle(r, true); }
Replacement triu(Rewrite& r) { return triangle(r, false); }

/// Source positions of a padded dimension; pads come last dimension first, two a dimension.
std::vector<Value> padded_positions(Rewrite& r, const TensorMeta& from, const TensorMeta& to, bool reflect) {
  const auto pad = r.sizes("padding");
  const size_t dims = pad.size() / 2, first = from.rank() - dims;
  std::vector<Value> positions;
  for (size_t k = 0; k < dims; ++k) {
    const Expr last = from.sizes[first + k] - 1;
    Value i = r.b.iota(to.sizes[first + k], from.device, GraphBuilder::size_argument(-pad[2 * (dims - 1 - k)]));
    if (reflect) {
      const Argument edge = GraphBuilder::size_argument(last);
      i = r.b.call("aten.abs", {i});
      i = r.b.sub(edge, r.b.call("aten.abs", {r.b.sub(edge, i)}));
    } else {
      i = r.b.call("aten.minimum", {r.b.call("aten.maximum", {i, int64_t{0}}), GraphBuilder::size_argument(last)});
    }
    positions.push_back(i);
  }
  return positions;
}

Replacement reflection_pad(Rewrite& r) {
  const Value x = r.tensor("self");
  return {gather_at(r, x, padded_positions(r, x.meta(), r.out(), true))};
}
Replacement replication_pad(Rewrite& r) {
  const Value x = r.tensor("self");
  return {gather_at(r, x, padded_positions(r, x.meta(), r.out(), false))};
}

Replacement pad_backward(Rewrite& r, bool reflect) {
  const Value grad = r.opmath(r.tensor("grad_output"));
  const TensorMeta& from = r.tensor("self").meta();
  return {r.result(accumulate_at(r, from.sizes, padded_positions(r, from, grad.meta(), reflect), grad))};
}
Replacement reflection_pad_backward(Rewrite& r) { return pad_backward(r, true); }
Replacement replication_pad_backward(Rewrite& r) { return pad_backward(r, false); }

Replacement diag_embed(Rewrite& r) {
  const Value x = r.tensor("self");
  const size_t rank = r.out().rank();
  const int64_t a = wrap_dim(r.integer("dim1"), rank), b = wrap_dim(r.integer("dim2"), rank);
  const Value zeros = r.b.full(r.out().sizes, int64_t{0}, r.out().dtype, r.out().device);
  return {r.b.call("aten.diagonal_scatter", {zeros, x, r.integer("offset"), a, b})};
}

constexpr Decomposition kRows[] = {
    {"aten.stack", stack},
    {"aten.repeat", repeat},
    {"aten.repeat_interleave.self_int", repeat_interleave},
    {"aten.pixel_shuffle", pixel_shuffle},
    {"aten.pixel_unshuffle", pixel_unshuffle},
    {"aten.channel_shuffle", channel_shuffle},
    {"aten.roll", roll},
    {"aten.index_select", index_select},
    {"aten.index_add", index_add},
    {"aten.index_copy", index_copy},
    {"aten.index_fill.int_Scalar", index_fill},
    {"aten.index_fill.int_Tensor", index_fill},
    {"aten.take", take},
    {"aten.tril", tril},
    {"aten.triu", triu},
    {"aten.reflection_pad1d", reflection_pad},
    {"aten.reflection_pad2d", reflection_pad},
    {"aten.reflection_pad3d", reflection_pad},
    {"aten.reflection_pad1d_backward", reflection_pad_backward},
    {"aten.reflection_pad2d_backward", reflection_pad_backward},
    {"aten.reflection_pad3d_backward", reflection_pad_backward},
    {"aten.replication_pad1d", replication_pad},
    {"aten.replication_pad2d", replication_pad},
    {"aten.replication_pad3d", replication_pad},
    {"aten.replication_pad1d_backward", replication_pad_backward},
    {"aten.replication_pad2d_backward", replication_pad_backward},
    {"aten.replication_pad3d_backward", replication_pad_backward},
    {"aten.diag_embed", diag_embed},
};

}  // namespace

std::span<const Decomposition> movement_decompositions() { return kRows; }

}  // namespace litz
