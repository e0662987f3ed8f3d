// What the caller gets: aliases of inputs stay aliases, views of one computed tensor stay views of it, and promised strides hold.
#include "litz/lower/lowering.h"

namespace litz {

namespace {

ExternTensor as_extern(const View& v) {
  ExternTensor t;
  t.buffer = v.buffer;
  t.axes = v.axes;
  t.coordinates = v.coordinates;
  t.sizes = v.sizes;
  t.dtype = v.dtype;
  return t;
}

}  // namespace

View Lowering::clone_for_output(const View& v, const TensorMeta& meta, const Node& node) {
  View result = copy(v, &node, node.name + "_out");
  result.buffer->layout.kind = LayoutKind::kStrided;
  result.buffer->layout.strides = meta.strides;
  result.buffer->is_promised = true;
  return result;
}

ProgramOutput Lowering::lower_output(const GraphOutput& output) {
  ProgramOutput result;
  auto* value = std::get_if<Value>(&output.value);
  if (!value) {
    std::visit(
        [&](const auto& v) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(v)>, Value>) result.value = v;
        },
        output.value);
    return result;
  }
  View v = view(*value);
  const TensorMeta& meta = value->meta();
  if (!output.strides_are_promised) {
    ExternTensor t = extern_tensor(v, *value->node);
    t.buffer->escapes = true;
    result.value = t;
    return result;
  }
  fix_layout(v, meta);
  Buffer* b = v.buffer;
  if (b->layout.kind == LayoutKind::kFlexible) {
    // A view of a tensor whose strides nobody has promised yet: eager's, where they are known, else row-major.
    const TensorMeta* base = eager_meta(b);
    b->layout.kind = LayoutKind::kStrided;
    b->layout.strides = base && base->sizes == b->sizes ? base->strides : contiguous_strides(context(), b->sizes);
    b->layout.wanted_order.clear();
  }
  std::optional<StridedForm> form;
  if (b->layout.kind == LayoutKind::kStrided) form = strided_form(context(), v, b->layout.strides, b->layout.offset);
  bool is_exact = form && same_strides(meta.sizes, form->strides, meta.strides);
  if (!is_exact) v = clone_for_output(v, meta, *value->node);
  v.buffer->escapes = true;
  if (v.buffer->kind == BufferKind::kComputed) v.buffer->is_promised = true;
  ExternTensor promised = as_extern(v);
  promised.required_strides = meta.strides;  // also of dimensions of size 1, where any stride would be right
  result.value = promised;
  return result;
}

void Lowering::lower_outputs() {
  for (const GraphOutput& o : graph_.outputs) program_->outputs.push_back(lower_output(o));
}

}  // namespace litz
