// Views in terms of the primitive views, and the ops that cut a tensor into views.
#include <numeric>

#include "litz/decompose/decompose.h"
#include "litz/graph/shape_rules.h"

namespace litz {
namespace {

std::vector<int64_t> identity(size_t rank) {
  std::vector<int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

Replacement transpose_dims(Rewrite& r, int64_t a, int64_t b) {
  const Value x = r.tensor("self");
  std::vector<int64_t> dims = identity(x.meta().rank());
  if (dims.empty()) return {r.b.call("aten.alias", {x})};
  std::swap(dims[a], dims[b]);
  return {r.b.permute(x, dims)};
}

Replacement transpose(Rewrite& r) {
  const size_t rank = r.tensor("self").meta().rank();
  return transpose_dims(r, r.dim("dim0", rank), r.dim("dim1", rank));
}

Replacement t(Rewrite& r) {
  const size_t rank = r.tensor("self").meta().rank();
  if (rank < 2) return {r.b.call("aten.alias", {r.tensor("self")})};
  return transpose_dims(r, 0, 1);
}

Replacement alias(Rewrite& r) { return {r.b.call("aten.alias", {r.tensor("self")})}; }

/// A view with the sizes of the result; also where the new sizes hold a -1.
Replacement reshape(Rewrite& r) {
  const Value x = r.tensor("self");
  if (x.meta().sizes == r.out().sizes) return {r.b.call("aten.alias", {x})};
  return {r.b.call("aten.reshape", {x, GraphBuilder::size_list(r.out().sizes)})};
}

Replacement squeeze(Rewrite& r) {
  const Value x = r.tensor("self");
  const size_t rank = x.meta().rank();
  std::vector<int64_t> dims;
  if (r.node.op->argument_index("dim") >= 0) {
    if (rank > 0) dims = r.dims("dim", rank);
  } else {
    dims = identity(rank);
  }
  std::vector<int64_t> dropped;
  for (int64_t d : dims)
    if (x.meta().sizes[d].is_integer(1)) dropped.push_back(d);
  if (dropped.empty()) return {r.b.call("aten.alias", {x})};
  return {r.b.call("aten.squeeze.dims", {x, GraphBuilder::int_list(dropped)})};
}

/// The pieces of a split start where the pieces before end.
Replacement pieces(Rewrite& r) {
  const Value x = r.tensor("self");
  const int64_t dim = r.dim("dim", x.meta().rank());
  Replacement parts;
  Expr start = r.constant(0);
  for (const TensorMeta& m : r.node.outputs) {
    const Expr end = start + m.sizes[dim];
    parts.push_back(r.b.slice(x, dim, start, end));
    start = end;
  }
  return parts;
}

Replacement unbind(Rewrite& r) {
  const Value x = r.tensor("self");
  const int64_t dim = r.dim("dim", x.meta().rank());
  Replacement parts;
  for (size_t i = 0; i < r.node.outputs.size(); ++i) parts.push_back(r.b.select(x, dim, static_cast<int64_t>(i)));
  return parts;
}

Replacement narrow(Rewrite& r) {
  const Value x = r.tensor("self");
  const int64_t dim = r.dim("dim", x.meta().rank());
  const Argument& start = r.argument("start");
  const Expr from = start.is<Expr>() ? start.as<Expr>() : r.constant(start.as<int64_t>());
  return {r.b.slice(x, dim, from, from + r.out().sizes[dim])};
}

constexpr Decomposition kRows[] = {
    {"aten.t", t},
    {"aten.transpose.int", transpose},
    {"aten.detach", alias},
    {"aten.lift_fresh", alias},
    {"aten.view", reshape},
    {"aten._unsafe_view", reshape, true},
    {"aten._reshape_alias", reshape},
    {"aten.squeeze", squeeze},
    {"aten.squeeze.dim", squeeze},
    {"aten.split.Tensor", pieces},
    {"aten.split_with_sizes", pieces},
    {"aten.unbind.int", unbind},
    {"aten.narrow", narrow},
    {"prims.squeeze", [](Rewrite& r) -> Replacement { return {r.b.call("aten.squeeze.dims", {r.tensor("a"), r.argument("dimensions")})}; }},
};

}  // namespace

std::span<const Decomposition> view_decompositions() { return kRows; }

}  // namespace litz
