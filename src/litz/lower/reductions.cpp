// Reductions. Sums of narrow floats accumulate in float32 and round once; integers in the result's type; variance by Welford.
#include "litz/lower/promotion.h"

namespace litz {

namespace {

/// Which dimensions are reduced; none given means all.
std::vector<bool> reduced_dims(const std::vector<int64_t>& dims, size_t rank) {
  std::vector<bool> reduced(rank, dims.empty());
  for (int64_t d : dims)
    if (rank > 0) reduced[static_cast<size_t>(Arguments::wrap_dim(d, rank))] = true;
  return reduced;
}

View finish(Lowering& lowering, View v, bool keepdim, const std::vector<bool>& reduced) {
  return keepdim ? lowering.keep_dims(std::move(v), reduced) : v;
}

LoweringResult lower_plain(Lowering& lowering, const Node& node, ReductionKind kind, DType accumulate, DType element,
                           const std::vector<int64_t>& dims, bool keepdim) {
  View self = Arguments(lowering, node).tensor("self");
  std::vector<bool> reduced = reduced_dims(dims, self.rank());
  DType result = node.outputs[0].dtype;
  std::vector<View> views = lowering.reduce(node, {kind, accumulate, {result}, {node.name}}, self.sizes, reduced,
                                            [&](BodyBuilder& b, std::span<const Expr> index, std::span<const Expr>) {
                                              return std::vector{b.cast(b.cast(lowering.load(b, self, index), element), accumulate)};
                                            });
  return std::vector{finish(lowering, views[0], keepdim, reduced)};
}

LoweringResult lower_sum(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  DType result = node.outputs[0].dtype;
  return lower_plain(lowering, node, ReductionKind::kSum, opmath_type(result), result, in.integers("dim"), in.boolean("keepdim"));
}

LoweringResult lower_prod(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  DType result = node.outputs[0].dtype;
  return lower_plain(lowering, node, ReductionKind::kProd, opmath_type(result), result, {in.integer("dim")}, in.boolean("keepdim"));
}

template <ReductionKind kKind>
LoweringResult lower_extremum(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  DType result = node.outputs[0].dtype;
  return lower_plain(lowering, node, kKind, result, result, in.integers("dim"), in.boolean("keepdim"));
}

template <ReductionKind kKind>
LoweringResult lower_truth(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  std::vector<int64_t> dims = in.integers("dim");
  View self = in.tensor("self");
  if (in.has("dim") && dims.empty() && self.rank() > 0) return unsupported("an empty list of dimensions");
  return lower_plain(lowering, node, kKind, DType::kBool, DType::kBool, dims, in.boolean("keepdim"));
}

template <ReductionKind kKind>
LoweringResult lower_arg(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  std::vector<int64_t> dims;
  if (auto d = in.optional_integer("dim")) dims.push_back(*d);
  std::vector<bool> reduced = reduced_dims(dims, self.rank());
  std::vector<Expr> reduced_sizes;
  for (size_t d = 0; d < self.rank(); ++d)
    if (reduced[d]) reduced_sizes.push_back(self.sizes[d]);
  std::vector<View> views = lowering.reduce(node, {kKind, self.dtype, {DType::kInt64}, {node.name}}, self.sizes, reduced,
                                            [&](BodyBuilder& b, std::span<const Expr> index, std::span<const Expr> r) {
                                              Expr position =
                                                  r.empty() ? lowering.integer(0) : flatten(lowering.context(), r, reduced_sizes);
                                              return std::vector{lowering.load(b, self, index), b.index_expr(position)};
                                            });
  return std::vector{finish(lowering, views[0], in.boolean("keepdim"), reduced)};
}

template <ReductionKind kKind>
LoweringResult lower_with_index(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  std::vector<bool> reduced = reduced_dims({in.integer("dim")}, self.rank());
  std::vector<View> views =
      lowering.reduce(node, {kKind, self.dtype, {self.dtype, DType::kInt64}, {node.name, node.name + "_1"}}, self.sizes, reduced,
                      [&](BodyBuilder& b, std::span<const Expr> index, std::span<const Expr> r) {
                        return std::vector{lowering.load(b, self, index), b.index_expr(r.empty() ? lowering.integer(0) : r[0])};
                      });
  bool keepdim = in.boolean("keepdim");
  return std::vector{finish(lowering, views[0], keepdim, reduced), finish(lowering, views[1], keepdim, reduced)};
}

LoweringResult lower_var_mean(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  std::vector<bool> reduced = reduced_dims(in.integers("dim"), self.rank());
  DType result = node.outputs[0].dtype, wide = opmath_type(result);
  std::vector<Expr> reduced_sizes;
  for (size_t d = 0; d < self.rank(); ++d)
    if (reduced[d]) reduced_sizes.push_back(self.sizes[d]);
  std::vector<View> moments = lowering.reduce(node, {ReductionKind::kWelford, wide, {wide, wide}, {node.name + "_mean", node.name + "_m2"}},
                                              self.sizes, reduced, [&](BodyBuilder& b, std::span<const Expr> index, std::span<const Expr>) {
                                                return std::vector{b.cast(lowering.load(b, self, index), wide)};
                                              });
  const Argument& correction = node.argument("correction");
  Argument subtracted = correction.is<None>() ? Argument(int64_t{1}) : correction;
  Expr count = element_count(lowering.context(), reduced_sizes);
  bool keepdim = in.boolean("keepdim");
  TensorMeta meta = node.outputs[0];
  meta.sizes = moments[0].sizes;
  View variance = lowering.pointwise(node, meta, node.name, [&](BodyBuilder& b, std::span<const Expr> index) {
    ValueId n = b.sub(b.cast(b.index_expr(count), wide), number_value(b, subtracted, wide));
    return b.div(lowering.load(b, moments[1], index), b.maximum(n, b.constant(wide, 0.0)));
  });
  View mean = moments[0];
  if (result != wide && lowering.is_used(node, 1))
    mean = lowering.pointwise(node, meta, node.name + "_1",
                              [&](BodyBuilder& b, std::span<const Expr> index) { return lowering.load(b, moments[0], index); });
  // An unused mean of a narrow type has no buffer of its own.
  std::vector<View> views{finish(lowering, variance, keepdim, reduced)};
  if (mean.dtype == result) views.push_back(finish(lowering, mean, keepdim, reduced));
  return views;
}

constexpr LoweringEntry kTable[] = {
    {"aten.sum.dim_IntList", lower_sum},
    {"aten.prod.dim_int", lower_prod},
    {"aten.amax", lower_extremum<ReductionKind::kMax>},
    {"aten.amin", lower_extremum<ReductionKind::kMin>},
    {"aten.any.dims", lower_truth<ReductionKind::kAny>},
    {"aten.all.dims", lower_truth<ReductionKind::kAll>},
    {"aten.argmax", lower_arg<ReductionKind::kArgMax>},
    {"aten.argmin", lower_arg<ReductionKind::kArgMin>},
    {"aten.max.dim", lower_with_index<ReductionKind::kMaxWithIndex>},
    {"aten.min.dim", lower_with_index<ReductionKind::kMinWithIndex>},
    {"aten.var_mean.correction", lower_var_mean},
};

}  // namespace

std::span<const LoweringEntry> reduction_lowerings() { return kTable; }

}  // namespace litz
