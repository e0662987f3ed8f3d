// Calls of libraries and of the dispatcher, and tensors as their arguments.
#include <algorithm>
#include <numeric>

#include "litz/loop/dense_strides.h"
#include "litz/lower/lowering.h"

namespace litz {

namespace {

/// Dimensions from the outermost to the innermost; nullopt if the tensor is not dense in some order.
std::optional<std::vector<int>> dense_order(std::span<const Expr> sizes, std::span<const Expr> strides, ExprContext& context) {
  std::vector<int> order, left(sizes.size());
  std::iota(left.begin(), left.end(), 0);
  Expr step = context.integer(1);
  while (!left.empty()) {
    // The innermost dimension left: the one whose stride is what the dimensions inside it hold.
    auto it = std::find_if(left.rbegin(), left.rend(), [&](int d) { return sizes[d].is_integer(1) || strides[d] == step; });
    if (it == left.rend()) return std::nullopt;
    order.insert(order.begin(), *it);
    if (!sizes[*it].is_integer(1)) step = step * sizes[*it];
    left.erase(std::next(it).base());
  }
  return order;
}

}  // namespace

bool Lowering::is_strided(View& v) {
  Buffer* b = v.buffer;
  if (is_affine(v)) return true;
  if (b->layout.kind == LayoutKind::kStrided) return strided_form(context(), v, b->layout.strides, b->layout.offset).has_value();
  if (b->layout.order_is_binding)
    return strided_form(context(), v, dense_strides(context(), b->sizes, b->layout.wanted_order), {}).has_value();
  std::vector<std::vector<int>> candidates{row_major_order(b->sizes.size())};
  if (const TensorMeta* meta = eager_meta(b); meta && meta->sizes == b->sizes)
    if (auto order = dense_order(meta->sizes, meta->strides, context()); order && *order != candidates[0]) candidates.push_back(*order);
  // A wish for another order gives way to a call that needs this one.
  for (auto& order : candidates) {
    if (!strided_form(context(), v, dense_strides(context(), b->sizes, order), {})) continue;
    b->layout.wanted_order = order;
    b->layout.order_is_binding = true;
    return true;
  }
  return false;
}

ExternTensor Lowering::extern_tensor(View v, const Node& node, std::span<const Expr> required_strides) {
  if (!is_strided(v)) {
    DType dtype = v.dtype;
    v = copy(v, &node, node.name + "_arg");
    v.dtype = dtype;
  }
  Buffer* b = v.buffer;
  if (!required_strides.empty() && v.is_whole() && b->layout.kind == LayoutKind::kFlexible && b->layout.wanted_order.empty())
    if (auto order = dense_order(b->sizes, required_strides, context()); order && *order != row_major_order(b->sizes.size()))
      b->layout.wanted_order = *order;
  ExternTensor t;
  t.buffer = b;
  t.axes = v.axes;
  t.coordinates = v.coordinates;
  t.sizes = v.sizes;
  t.required_strides.assign(required_strides.begin(), required_strides.end());
  t.dtype = v.dtype;
  return t;
}

ExternArgument Lowering::extern_argument(const Argument& argument, const Node& node, bool demands_strides) {
  struct Visitor {
    Lowering& lowering;
    const Node& node;
    bool demands_strides;
    ExternArgument operator()(const Value& v) const {
      const TensorMeta& meta = v.meta();
      return lowering.extern_tensor(lowering.view(v), node,
                                    demands_strides ? std::span<const Expr>(meta.strides) : std::span<const Expr>());
    }
    ExternArgument operator()(const ArgumentList& list) const {
      ExternArgumentList result;
      for (const Argument& a : list) result.push_back(lowering.extern_argument(a, node, demands_strides));
      return result;
    }
    ExternArgument operator()(None v) const { return v; }
    ExternArgument operator()(bool v) const { return v; }
    ExternArgument operator()(int64_t v) const { return v; }
    ExternArgument operator()(double v) const { return v; }
    ExternArgument operator()(std::complex<double> v) const { return v; }
    ExternArgument operator()(Expr v) const { return v; }
    ExternArgument operator()(const std::string& v) const { return v; }
    ExternArgument operator()(DType v) const { return v; }
    ExternArgument operator()(const Device& v) const { return v; }
    ExternArgument operator()(MemoryFormat v) const { return v; }
  };
  const auto& base = static_cast<const std::variant<None, bool, int64_t, double, std::complex<double>, Expr, std::string, DType, Device,
                                                    MemoryFormat, Value, ArgumentList>&>(argument);
  return std::visit(Visitor{*this, node, demands_strides}, base);
}

std::vector<View> Lowering::extern_call(const Node& node, const ExternSpec& spec) {
  std::vector<ExternArgument> arguments;
  for (const Argument& a : node.arguments) arguments.push_back(extern_argument(a, node, spec.demands_strides));
  Operation* op = new_operation(OperationKind::kExtern, node, node.name);
  op->callee = program_->schema(*node.op);
  op->arguments = std::move(arguments);
  op->writes_planned_output = spec.writes_planned_output;
  op->symbol_outputs = node.symbol_outputs;
  // Results on the storage of an argument keep that storage alive, and as it is.
  Buffer* base = nullptr;
  if (node.op->is_view)
    for (const ExternArgument& a : op->arguments) for_each_tensor(a, [&](const ExternTensor& t) { base = base ? base : t.buffer; });
  std::vector<Buffer*> buffers;
  std::vector<View> views;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const TensorMeta& meta = node.outputs[k];
    std::string name = k == 0 ? node.name : fmt::format("{}_{}", node.name, k);
    Buffer* b =
        meta.is_none ? new_buffer(name, DType::kFloat32, {integer(0)}, Device{}) : new_buffer(name, meta.dtype, meta.sizes, meta.device);
    b->source = &node;
    b->is_absent = meta.is_none;
    if (spec.has_exact_outputs && !meta.is_none) {
      b->layout.kind = LayoutKind::kStrided;
      b->layout.base = base;
      b->layout.strides = meta.strides;
    }
    buffers.push_back(b);
    views.push_back(meta.is_none ? View{} : whole_view(context(), b));
  }
  program_->set_outputs(op, buffers);
  return views;
}

}  // namespace litz
