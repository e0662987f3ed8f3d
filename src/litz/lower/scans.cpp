// Running sums, products, extrema along one dimension, inclusive; sorts.
#include "litz/lower/lowering.h"

namespace litz {

namespace {

/// Along a dimension of one element, or of a scalar.
std::vector<View> scan_of_one(Lowering& lowering, const Node& node, const View& self, bool has_index) {
  std::vector<View> result{lowering.pointwise(
      node, 0, [&](BodyBuilder& b, std::span<const Expr> index) { return b.cast(lowering.load(b, self, index), node.outputs[0].dtype); })};
  if (has_index)
    result.push_back(lowering.pointwise(node, 1, [&](BodyBuilder& b, std::span<const Expr>) { return b.constant(DType::kInt64, 0.0); }));
  return result;
}

LoweringResult lower_scan(Lowering& lowering, const Node& node, ReductionKind kind, DType accumulate, DType element) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  bool has_index = reduction_traits(kind).inputs == 2;
  const int dim = Arguments::wrap_dim(in.integer("dim"), self.rank());
  if (self.rank() == 0 || self.sizes[static_cast<size_t>(dim)].is_integer(1)) return scan_of_one(lowering, node, self, has_index);
  Operation* op = lowering.new_operation(OperationKind::kScan, node, node.name);
  op->axes = new_axes(lowering.context(), self.sizes, 'i');
  op->rank = static_cast<int>(op->axes.size());
  op->scan_axis = dim;
  op->reduction = kind;
  op->accumulate = accumulate;
  BodyBuilder b(lowering.context());
  b.yield(b.cast(b.cast(lowering.load(b, self, op->axes), element), accumulate));
  if (has_index) b.yield(b.index_expr(op->axes[static_cast<size_t>(dim)]));
  op->body = b.take();
  std::vector<Buffer*> buffers;
  std::vector<View> views;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const TensorMeta& meta = node.outputs[k];
    buffers.push_back(lowering.new_buffer(k == 0 ? node.name : fmt::format("{}_{}", node.name, k), meta.dtype, meta.sizes, meta.device));
    buffers.back()->source = &node;
    views.push_back(whole_view(lowering.context(), buffers.back()));
  }
  lowering.program().set_outputs(op, buffers);
  return views;
}

template <ReductionKind kKind>
LoweringResult lower_running_total(Lowering& lowering, const Node& node) {
  DType result = node.outputs[0].dtype;
  if (kKind == ReductionKind::kLogSumExp && !is_floating(result))
    return unsupported("{} of {}: eager refuses it", node.op_name(), dtype_name(result));
  return lower_scan(lowering, node, kKind, opmath_type(result), result);
}

template <ReductionKind kKind>
LoweringResult lower_running_extremum(Lowering& lowering, const Node& node) {
  DType result = node.outputs[0].dtype;
  return lower_scan(lowering, node, kKind, result, result);
}

/// The kernel sorts values together with their places.
LoweringResult lower_sort(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  const View self = in.tensor("self");
  const DType dtype = node.outputs[0].dtype;
  if (!lowering.options().most_sorted_elements) return unsupported("no lowering");
  const auto dim = static_cast<size_t>(Arguments::wrap_dim(in.integer("dim"), self.rank()));
  const Expr size = self.rank() ? self.sizes[dim] : lowering.integer(1);
  const auto elements = size.as_integer();
  if (!elements || *elements > lowering.options().most_sorted_elements)
    return unsupported("{} of rows of {} elements: generated code sorts up to {}", node.op_name(), to_string(size),
                       lowering.options().most_sorted_elements);
  if (*elements == 1) return scan_of_one(lowering, node, self, true);
  if (dtype_bytes(dtype) > lowering.options().most_sorted_bytes || dtype == DType::kUInt32)
    return unsupported("{} of {}: generated code sorts values of up to {} bytes", node.op_name(), dtype_name(dtype),
                       lowering.options().most_sorted_bytes);
  const bool descending = in.boolean("descending");
  return lower_scan(lowering, node, descending ? ReductionKind::kSortDescending : ReductionKind::kSort, dtype, dtype);
}

constexpr LoweringEntry kTable[] = {
    {"aten.sort", lower_sort},
    {"aten.sort.stable", lower_sort},
    {"aten.cumsum", lower_running_total<ReductionKind::kSum>},
    {"aten.cumprod", lower_running_total<ReductionKind::kProd>},
    {"aten.logcumsumexp", lower_running_total<ReductionKind::kLogSumExp>},
    {"aten.cummax", lower_running_extremum<ReductionKind::kMaxWithIndex>},
    {"aten.cummin", lower_running_extremum<ReductionKind::kMinWithIndex>},
};

}  // namespace

std::span<const LoweringEntry> scan_lowerings() { return kTable; }

}  // namespace litz
