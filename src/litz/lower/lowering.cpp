#include "litz/lower/lowering.h"

#include <algorithm>

namespace litz {

Lowering::Lowering(const Graph& graph, const LoweringOptions& options)
    : graph_(graph),
      options_(options),
      program_(std::make_unique<LoopProgram>(graph.context)) {
  program_->name = graph.name;
}

View Lowering::view(Value value) const {
  auto it = views_.find(value);
  LITZ_CHECK(it != views_.end(), "{} is used before it is defined", value_text(value));
  View v = it->second;
  if (auto newest = newest_.find(first_version(v.buffer)); newest != newest_.end()) v.buffer = newest->second;
  return v;
}

ValueId Lowering::load(BodyBuilder& b, const View& view, std::span<const Expr> index, ValueId predicate) {
  ValueId v = b.load(view.buffer, view.at(index), predicate);
  return view.dtype == view.buffer->dtype ? v : b.bitcast(v, view.dtype);
}

ValueId Lowering::load_broadcast(BodyBuilder& b, const View& view, std::span<const Expr> index) {
  return load(b, view, broadcast_index(context(), view.sizes, index));
}

ValueId Lowering::predicate(BodyBuilder& b, Expr condition) {
  if (condition.is_integer() && condition.integer() != 0) return kNoValue;
  return b.index_expr(condition, DType::kBool);
}

ValueId Lowering::inside(BodyBuilder& b, std::span<const std::pair<Expr, Expr>> index_and_size) {
  Expr condition = integer(1);
  for (const auto& [index, size] : index_and_size) condition = logical_and(condition, logical_and(le(integer(0), index), lt(index, size)));
  return predicate(b, condition);
}

Operation* Lowering::new_operation(OperationKind kind, const Node& node, std::string_view name) {
  Operation* op = program_->new_operation(kind, name);
  op->sources.push_back(&node);
  return op;
}

Buffer* Lowering::new_buffer(std::string_view name, DType dtype, std::vector<Expr> sizes, const Device& device) {
  return program_->new_buffer(name, dtype, std::move(sizes), device);
}

View Lowering::pointwise(const Node& node, const TensorMeta& meta, std::string_view name, const PointFunction& f) {
  Buffer* buffer = new_buffer(name, meta.dtype, meta.sizes, meta.device);
  buffer->source = &node;
  Operation* op = new_operation(OperationKind::kPointwise, node, buffer->name);
  op->axes = new_axes(context(), meta.sizes, 'i');
  op->rank = static_cast<int>(op->axes.size());
  BodyBuilder b(context());
  b.yield(b.cast(f(b, op->axes), meta.dtype));
  op->body = b.take();
  program_->set_outputs(op, {buffer});
  return whole_view(context(), buffer);
}

View Lowering::pointwise(const Node& node, int output, const PointFunction& f) {
  return pointwise(node, node.outputs[output], output == 0 ? node.name : fmt::format("{}_{}", node.name, output), f);
}

std::vector<View> Lowering::pointwise_many(const Node& node, std::span<const int> outputs,
                                           const std::function<std::vector<ValueId>(BodyBuilder&, std::span<const Expr>)>& f) {
  Operation* op = new_operation(OperationKind::kPointwise, node, node.name);
  op->axes = new_axes(context(), node.outputs[outputs[0]].sizes, 'i');
  op->rank = static_cast<int>(op->axes.size());
  BodyBuilder b(context());
  std::vector<ValueId> values = f(b, op->axes);
  std::vector<Buffer*> buffers;
  std::vector<View> views;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const TensorMeta& meta = node.outputs[outputs[k]];
    b.yield(b.cast(values[k], meta.dtype));
    buffers.push_back(
        new_buffer(outputs[k] == 0 ? node.name : fmt::format("{}_{}", node.name, outputs[k]), meta.dtype, meta.sizes, meta.device));
    buffers.back()->source = &node;
    views.push_back(whole_view(context(), buffers.back()));
  }
  op->body = b.take();
  program_->set_outputs(op, buffers);
  return views;
}

std::vector<View> Lowering::reduce(
    const Node& node, const ReductionSpec& spec, std::span<const Expr> sizes, const std::vector<bool>& is_reduced,
    const std::function<std::vector<ValueId>(BodyBuilder&, std::span<const Expr> index, std::span<const Expr> reduced)>& f) {
  std::vector<Expr> kept, reduced_axes, index(sizes.size());
  Operation* op = new_operation(OperationKind::kReduction, node, spec.names[0]);
  for (size_t d = 0; d < sizes.size(); ++d)
    if (!is_reduced[d]) {
      op->axes.push_back(context().axis(fmt::format("i{}", op->axes.size()), sizes[d]));
      index[d] = op->axes.back();
      kept.push_back(sizes[d]);
    }
  op->rank = static_cast<int>(op->axes.size());
  for (size_t d = 0; d < sizes.size(); ++d)
    if (is_reduced[d]) {
      reduced_axes.push_back(context().axis(fmt::format("r{}", reduced_axes.size()), sizes[d]));
      index[d] = reduced_axes.back();
      op->axes.push_back(reduced_axes.back());
    }
  op->reduction = spec.kind;
  op->accumulate = spec.accumulate;
  BodyBuilder b(context());
  for (ValueId v : f(b, index, reduced_axes)) b.yield(v);
  op->body = b.take();
  std::vector<Buffer*> buffers;
  std::vector<View> views;
  const Device& device = node.outputs[0].device;
  for (size_t k = 0; k < spec.outputs.size(); ++k) {
    buffers.push_back(new_buffer(spec.names[k], spec.outputs[k], kept, device));
    buffers.back()->source = &node;
    views.push_back(whole_view(context(), buffers.back()));
  }
  op->name = buffers[0]->name;
  program_->set_outputs(op, buffers);
  return views;
}

View Lowering::keep_dims(View view, const std::vector<bool>& is_reduced) {
  for (size_t d = 0; d < is_reduced.size(); ++d)
    if (is_reduced[d]) view = unsqueeze(context(), view, static_cast<int>(d));
  return view;
}

View Lowering::copy(const View& view, const Node* source, std::string_view name) {
  Buffer* buffer = new_buffer(name, view.dtype, view.sizes, view.buffer->device);
  buffer->source = source;
  Operation* op = program_->new_operation(OperationKind::kPointwise, buffer->name);
  if (source) op->sources.push_back(source);
  op->axes = new_axes(context(), view.sizes, 'i');
  op->rank = static_cast<int>(op->axes.size());
  BodyBuilder b(context());
  b.yield(load(b, view, op->axes));
  op->body = b.take();
  program_->set_outputs(op, {buffer});
  return whole_view(context(), buffer);
}

void Lowering::write(const Node& node, const View& target, const PointFunction& f) {
  Buffer* root = first_version(target.buffer);
  int version = 1;
  for (Buffer* b = target.buffer; b->version_of; b = b->version_of) ++version;
  Buffer* next = new_buffer(fmt::format("{}@{}", root->name, version), root->dtype, root->sizes, root->device);
  next->version_of = target.buffer;
  next->layout = root->layout;
  next->is_promised = root->kind == BufferKind::kInput;
  next->source = &node;
  BodyBuilder b(context());
  Operation* op;
  if (target.is_whole()) {
    op = new_operation(OperationKind::kPointwise, node, next->name);
    op->axes = new_axes(context(), next->sizes, 'i');
    b.yield(b.cast(f(b, op->axes), next->dtype));
  } else {
    // Elements outside the view keep what the version before holds.
    op = new_operation(OperationKind::kScatter, node, next->name);
    op->axes = new_axes(context(), target.sizes, 'i');
    op->scatter_base = target.buffer;
    op->scatter_coordinates = target.at(op->axes);
    ValueId v = b.cast(f(b, op->axes), target.dtype);
    b.yield(target.dtype == next->dtype ? v : b.bitcast(v, next->dtype));
  }
  op->rank = static_cast<int>(op->axes.size());
  op->body = b.take();
  program_->set_outputs(op, {next});
  newest_[root] = next;
}

}  // namespace litz
