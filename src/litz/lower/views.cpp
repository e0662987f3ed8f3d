// Views: maps of coordinates, no operations.
#include "litz/lower/strided_view.h"

namespace litz {

namespace {

std::vector<Expr> result_sizes(const Node& node) { return node.outputs[0].sizes; }

LoweringResult lower_reshape(Lowering& lowering, const Node& node) {
  return std::vector{reshape(lowering.context(), Arguments(lowering, node).tensor("self"), result_sizes(node))};
}

LoweringResult lower_permute(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  std::vector<int64_t> dims = in.integers("dims");
  for (int64_t& d : dims) d = Arguments::wrap_dim(d, self.rank());
  return std::vector{permute(lowering.context(), self, dims)};
}

LoweringResult lower_expand(Lowering& lowering, const Node& node) {
  return std::vector{expand(lowering.context(), Arguments(lowering, node).tensor("self"), result_sizes(node))};
}

LoweringResult lower_slice(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  int dim = Arguments::wrap_dim(in.integer("dim"), self.rank());
  Expr start = in.has("start") ? in.expr("start") : Expr();
  return std::vector{slice_view(lowering, self, dim, slice_start(lowering.context(), start, self.sizes[static_cast<size_t>(dim)]),
                                in.expr("step"), result_sizes(node)[static_cast<size_t>(dim)])};
}

LoweringResult lower_select(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  int dim = Arguments::wrap_dim(in.integer("dim"), self.rank());
  const Expr index = in.expr("index"), size = self.sizes[static_cast<size_t>(dim)];
  if (index.is_integer() && size.is_integer() && (index.integer() < -size.integer() || index.integer() >= size.integer()))
    return unsupported("select of index {} in a dimension of {}: eager's own error says it", index.integer(), size.integer());
  return std::vector{select_view(lowering, self, dim, wrap_index(lowering.context(), index, size))};
}

LoweringResult lower_unsqueeze(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  return std::vector{unsqueeze(lowering.context(), self, Arguments::wrap_dim(in.integer("dim"), self.rank() + 1))};
}

LoweringResult lower_squeeze(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  std::vector<bool> is_asked(self.rank(), false);
  for (int64_t d : in.integers("dim"))
    if (self.rank() > 0) is_asked[static_cast<size_t>(Arguments::wrap_dim(d, self.rank()))] = true;
  std::vector<Expr> axes = new_axes(lowering.context(), result_sizes(node), 'a'), index;
  size_t next = 0;
  for (size_t d = 0; d < self.rank(); ++d) {
    bool is_dropped = is_asked[d] && self.sizes[d].is_integer(1);
    index.push_back(is_dropped ? lowering.integer(0) : axes.at(next++));
  }
  return std::vector{compose(self, result_sizes(node), axes, index)};
}

LoweringResult lower_alias(Lowering& lowering, const Node& node) { return std::vector{Arguments(lowering, node).tensor("self")}; }

LoweringResult lower_as_strided(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  const TensorMeta& meta = node.argument("self").as<Value>().meta();
  Expr own_offset = meta.storage_offset ? meta.storage_offset : lowering.integer(0);
  Expr offset = in.has("storage_offset") ? in.expr("storage_offset") : own_offset;
  std::vector<Expr> sizes = result_sizes(node), strides = in.exprs("stride");
  if (sizes == self.sizes && offset == own_offset && same_strides(sizes, strides, meta.strides)) return std::vector{self};
  Result<View> view = strided_view(lowering, self, sizes, strides, offset);
  if (!view) return Unsupported{view.reason()};
  return std::vector{*view};
}

LoweringResult lower_unfold(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  std::vector<Expr> sizes = result_sizes(node), axes = new_axes(lowering.context(), sizes, 'a');
  std::vector<Expr> index(axes.begin(), axes.begin() + static_cast<ptrdiff_t>(self.rank()));
  if (self.rank() > 0) {
    auto dim = static_cast<size_t>(Arguments::wrap_dim(in.integer("dimension"), self.rank()));
    index[dim] = axes[dim] * in.integer("step") + axes.back();
  }
  return std::vector{compose(self, std::move(sizes), std::move(axes), index)};
}

LoweringResult lower_diagonal(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  return std::vector{diagonal_view(lowering, self, in.integer("offset"), Arguments::wrap_dim(in.integer("dim1"), self.rank()),
                                   Arguments::wrap_dim(in.integer("dim2"), self.rank()), result_sizes(node).back())};
}

LoweringResult lower_view_dtype(Lowering& lowering, const Node& node) {
  View self = Arguments(lowering, node).tensor("self");
  DType dtype = node.outputs[0].dtype;
  if (dtype_bytes(dtype) != dtype_bytes(self.dtype))
    return unsupported("a view of {} as {}, of another size", dtype_name(self.dtype), dtype_name(dtype));
  self.dtype = dtype;
  return std::vector{self};
}

constexpr LoweringEntry kTable[] = {
    {"aten.view", lower_reshape},      {"aten.reshape", lower_reshape},     {"aten._unsafe_view", lower_reshape},
    {"aten.permute", lower_permute},   {"aten.expand", lower_expand},       {"aten.slice.Tensor", lower_slice},
    {"aten.select.int", lower_select}, {"aten.unsqueeze", lower_unsqueeze}, {"aten.squeeze.dims", lower_squeeze},
    {"aten.alias", lower_alias},       {"aten.detach", lower_alias},        {"aten.as_strided", lower_as_strided},
    {"aten.unfold", lower_unfold},     {"aten.diagonal", lower_diagonal},   {"aten.view.dtype", lower_view_dtype},
};

}  // namespace

std::span<const LoweringEntry> view_lowerings() { return kTable; }

}  // namespace litz
