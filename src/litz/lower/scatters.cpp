// A copy of a tensor in which some elements are replaced or combined.
#include "litz/lower/advanced_index.h"
#include "litz/lower/promotion.h"
#include "litz/lower/strided_view.h"

namespace litz {

namespace {

/// Where element `index` of the iteration goes, and what goes there.
struct Target {
  std::vector<Expr> coordinates;
  ValueId value;
};
using TargetFunction = std::function<Target(BodyBuilder&, std::span<const Expr> index)>;

/// Why the elements are not combined here but by the framework; or empty.
std::string refuse_mode(Lowering& lowering, ScatterMode mode, DType dtype) {
  const LoweringOptions& options = lowering.options();
  if (!options.scatters_by_atomics) return {};
  if (options.is_deterministic && (mode == ScatterMode::kStore || is_floating(dtype)))
    return "several blocks write one element, and the result must not depend on their order";
  // Atomic extrema of floats compare bits: NaN would be lost.
  const bool has_atomic = mode == ScatterMode::kAdd                                ? is_floating(dtype) || dtype_bytes(dtype) >= 4
                          : mode == ScatterMode::kMin || mode == ScatterMode::kMax ? !is_floating(dtype) && dtype_bytes(dtype) >= 4
                                                                                   : true;
  return has_atomic ? std::string() : fmt::format("the device has no atomic instruction for it on {}", dtype_name(dtype));
}

/// A buffer that starts as `base`; a view that is no whole buffer is copied first.
View scatter(Lowering& lowering, const Node& node, std::string_view name, const View& base, std::span<const Expr> iteration,
             ScatterMode mode, const TargetFunction& f) {
  View from = base.is_whole() ? base : lowering.copy(base, &node, fmt::format("{}_base", node.name));
  Buffer* out = lowering.new_buffer(name, from.dtype, from.sizes, node.outputs[0].device);
  out->source = &node;
  Operation* op = lowering.new_operation(OperationKind::kScatter, node, out->name);
  op->axes = new_axes(lowering.context(), iteration, 'i');
  op->rank = static_cast<int>(op->axes.size());
  op->scatter_mode = mode;
  op->scatter_base = from.buffer;
  BodyBuilder b(lowering.context());
  Target target = f(b, op->axes);
  b.yield(b.cast(target.value, from.dtype));
  for (Expr e : target.coordinates) b.keep(e);
  op->body = b.take();
  op->scatter_coordinates = std::move(target.coordinates);
  lowering.program().set_outputs(op, {out});
  return whole_view(lowering.context(), out);
}

LoweringResult lower_masked_put(Lowering& lowering, const Node& node, const View& self, const View& mask, const View& values) {
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    ValueId hit = lowering.load(b, mask, index.first(mask.rank()));
    std::vector<Expr> zeros(values.rank(), lowering.integer(0));
    return b.where(hit, b.cast(lowering.load(b, values, zeros), self.dtype), lowering.load(b, self, index));
  })};
}

LoweringResult lower_index_put(Lowering& lowering, const Node& node, bool is_checked) {
  Arguments in(lowering, node);
  View self = in.tensor("self"), values = in.tensor("values");
  bool accumulate = in.boolean("accumulate");
  const ArgumentList& list = node.argument("indices").as<ArgumentList>();
  if (list.size() == 1 && list[0].is<Value>() && !accumulate) {
    View mask = lowering.view(list[0].as<Value>());
    if (mask.dtype == DType::kBool && element_count(lowering.context(), values.sizes).is_integer(1))
      return lower_masked_put(lowering, node, self, mask, values);
  }
  if (accumulate && self.dtype == DType::kBool) return unsupported("accumulating into booleans");
  if (std::string reason = refuse_mode(lowering, accumulate ? ScatterMode::kAdd : ScatterMode::kStore, self.dtype); !reason.empty())
    return unsupported("{}", reason);
  Result<AdvancedIndex> advanced = advanced_index(lowering, node, self);
  if (!advanced) return Unsupported{advanced.reason()};
  std::vector<Expr> iteration = result_sizes(*advanced, self);
  return std::vector{scatter(lowering, node, node.name, self, iteration, accumulate ? ScatterMode::kAdd : ScatterMode::kStore,
                             [&](BodyBuilder& b, std::span<const Expr> index) {
                               return Target{coordinates(lowering, b, *advanced, self, index, is_checked),
                                             lowering.load_broadcast(b, values, index)};
                             })};
}

LoweringResult lower_checked_index_put(Lowering& lowering, const Node& node) { return lower_index_put(lowering, node, true); }
LoweringResult lower_unsafe_index_put(Lowering& lowering, const Node& node) { return lower_index_put(lowering, node, false); }

using ValueFunction = std::function<ValueId(BodyBuilder&, std::span<const Expr> index)>;

/// The scatter family: self[.., index[i], ..] op= value(i).
View scatter_along(Lowering& lowering, const Node& node, std::string_view name, const View& base, int dim, const View& index_view,
                   ScatterMode mode, const ValueFunction& value) {
  return scatter(lowering, node, name, base, index_view.sizes, mode, [&](BodyBuilder& b, std::span<const Expr> index) {
    auto d = static_cast<size_t>(dim);
    std::vector<Expr> at(index.begin(), index.end());
    at[d] = checked_index(lowering, b, lowering.load(b, index_view, index), base.sizes[d],
                          fmt::format("index is out of bounds for dimension {} with size {}", dim, to_string(base.sizes[d])));
    return Target{at, value(b, index)};
  });
}

LoweringResult lower_scatter(Lowering& lowering, const Node& node, ScatterMode mode, bool include_self) {
  Arguments in(lowering, node);
  View self = in.tensor("self"), index = in.tensor("index");
  if (self.rank() == 0 || index.rank() == 0) return unsupported("scatter into a tensor without dimensions");
  if (self.rank() != index.rank()) return unsupported("scatter with an index of another rank");
  if (mode != ScatterMode::kStore && self.dtype == DType::kBool) return unsupported("combining booleans");
  if (std::string reason = refuse_mode(lowering, mode, self.dtype); !reason.empty()) return unsupported("{}", reason);
  int dim = Arguments::wrap_dim(in.integer("dim"), self.rank());
  bool has_source = node.op->argument_index("src") >= 0;
  ValueFunction value = [&](BodyBuilder& b, std::span<const Expr> at) {
    if (has_source) return lowering.load(b, in.tensor("src"), at);
    return number_value(b, node.argument("value"), self.dtype);
  };
  if (!include_self) {
    static constexpr ReductionKind kKinds[] = {ReductionKind::kSum, ReductionKind::kSum, ReductionKind::kProd, ReductionKind::kMin,
                                               ReductionKind::kMax};
    Number identity = reduction_identity(kKinds[static_cast<int>(mode)], self.dtype);
    self = scatter_along(lowering, node, node.name + "_start", self, dim, index, ScatterMode::kStore,
                         [&](BodyBuilder& b, std::span<const Expr>) { return b.constant(self.dtype, identity); });
  }
  return std::vector{scatter_along(lowering, node, node.name, self, dim, index, mode, value)};
}

LoweringResult lower_scatter_store(Lowering& lowering, const Node& node) {
  return lower_scatter(lowering, node, ScatterMode::kStore, true);
}
LoweringResult lower_scatter_add(Lowering& lowering, const Node& node) { return lower_scatter(lowering, node, ScatterMode::kAdd, true); }

LoweringResult lower_scatter_reduce(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  std::string reduce = in.string("reduce");
  bool include_self = in.boolean("include_self");
  if (reduce == "sum") return lower_scatter(lowering, node, ScatterMode::kAdd, include_self);
  if (reduce == "prod") return lower_scatter(lowering, node, ScatterMode::kMul, include_self);
  if (reduce == "amin") return lower_scatter(lowering, node, ScatterMode::kMin, include_self);
  if (reduce == "amax") return lower_scatter(lowering, node, ScatterMode::kMax, include_self);
  return unsupported("scatter_reduce with \"{}\"", reduce);
}

/// self with the elements of a slice replaced: a select at each place, so that it fuses.
LoweringResult lower_slice_scatter(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self"), source = in.tensor("src");
  auto dim = static_cast<size_t>(Arguments::wrap_dim(in.integer("dim"), self.rank()));
  Expr start = slice_start(lowering.context(), in.has("start") ? in.expr("start") : Expr(), self.sizes[dim]), step = in.expr("step");
  Expr length = source.sizes[dim];
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Expr from_start = index[dim] - start;
    Expr position = floor_div(from_start, step);
    Expr is_hit =
        logical_and(logical_and(le(lowering.integer(0), from_start), lt(position, length)), eq(mod(from_start, step), lowering.integer(0)));
    std::vector<Expr> at(index.begin(), index.end());
    at[dim] = position;
    ValueId hit = lowering.predicate(b, is_hit);
    ValueId replaced = b.cast(lowering.load_broadcast(b, source, at), self.dtype);
    if (hit == kNoValue) return replaced;
    replaced = b.cast(lowering.load(b, source, broadcast_index(lowering.context(), source.sizes, at), hit), self.dtype);
    return b.where(hit, replaced, lowering.load(b, self, index));
  })};
}

LoweringResult lower_select_scatter(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self"), source = in.tensor("src");
  auto dim = static_cast<size_t>(Arguments::wrap_dim(in.integer("dim"), self.rank()));
  Expr place = wrap_index(lowering.context(), in.expr("index"), self.sizes[dim]);
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    std::vector<Expr> at(index.begin(), index.end());
    at.erase(at.begin() + static_cast<ptrdiff_t>(dim));
    ValueId hit = lowering.predicate(b, eq(index[dim], place));
    ValueId replaced = b.cast(lowering.load(b, source, broadcast_index(lowering.context(), source.sizes, at), hit), self.dtype);
    return hit == kNoValue ? replaced : b.where(hit, replaced, lowering.load(b, self, index));
  })};
}

/// Through the view that names the places.
View scatter_into_view(Lowering& lowering, const Node& node, const View& base, const View& places, const View& source) {
  return scatter(lowering, node, node.name, base, places.sizes, ScatterMode::kStore, [&](BodyBuilder& b, std::span<const Expr> index) {
    return Target{places.at(index), lowering.load_broadcast(b, source, index)};
  });
}

LoweringResult lower_diagonal_scatter(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self"), source = in.tensor("src");
  if (!self.is_whole()) self = lowering.copy(self, &node, node.name + "_base");
  View places = diagonal_view(lowering, self, in.integer("offset"), Arguments::wrap_dim(in.integer("dim1"), self.rank()),
                              Arguments::wrap_dim(in.integer("dim2"), self.rank()), source.sizes.back());
  return std::vector{scatter_into_view(lowering, node, self, places, source)};
}

LoweringResult lower_as_strided_scatter(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self"), source = in.tensor("src");
  if (!self.is_whole()) return unsupported("as_strided_scatter into a view");
  const TensorMeta& meta = node.argument("self").as<Value>().meta();
  Expr offset = in.has("storage_offset") ? in.expr("storage_offset") : meta.storage_offset ? meta.storage_offset : lowering.integer(0);
  Result<View> places = strided_view(lowering, self, in.exprs("size"), in.exprs("stride"), offset);
  if (!places) return Unsupported{places.reason()};
  return std::vector{scatter_into_view(lowering, node, self, *places, source)};
}

constexpr LoweringEntry kTable[] = {
    {"aten.index_put", lower_checked_index_put},       {"aten._unsafe_index_put", lower_unsafe_index_put},
    {"aten.scatter.src", lower_scatter_store},         {"aten.scatter.value", lower_scatter_store},
    {"aten.scatter_add", lower_scatter_add},           {"aten.scatter_reduce.two", lower_scatter_reduce},
    {"aten.slice_scatter", lower_slice_scatter},       {"aten.select_scatter", lower_select_scatter},
    {"aten.diagonal_scatter", lower_diagonal_scatter}, {"aten.as_strided_scatter", lower_as_strided_scatter},
};

}  // namespace

std::span<const LoweringEntry> scatter_lowerings() { return kTable; }

}  // namespace litz
