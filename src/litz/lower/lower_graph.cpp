#include "litz/lower/lower_graph.h"

#include <algorithm>
#include <map>

#include "litz/graph/argument.h"
#include "litz/lower/lowering.h"

namespace litz {

namespace {

const std::unordered_map<std::string_view, LoweringFunction>& table() {
  static const auto* all = [] {
    auto* map = new std::unordered_map<std::string_view, LoweringFunction>;
    for (auto entries :
         {pointwise_lowerings(), cast_lowerings(), reduction_lowerings(), scan_lowerings(), view_lowerings(), movement_lowerings(),
          indexing_lowerings(), scatter_lowerings(), factory_lowerings(), random_lowerings(), pool_lowerings(), library_lowerings()})
      for (const LoweringEntry& e : entries) LITZ_CHECK(map->emplace(e.op, e.function).second, "{} has two lowerings", e.op);
    return map;
  }();
  return *all;
}

/// The argument whose storage a view op's result shares.
std::optional<Value> viewed_value(const Node& node) {
  if (!node.op || !node.op->is_view) return std::nullopt;
  for (size_t k = 0; k < node.arguments.size(); ++k)
    if (!node.op->arguments[k].alias_set.empty())
      if (auto* v = std::get_if<Value>(&node.arguments[k])) return *v;
  return std::nullopt;
}

bool is_attention(std::string_view op) { return op.find("scaled_dot_product") != std::string_view::npos; }

}  // namespace

void Lowering::find_uses() {
  for (const Node* node : graph_.nodes)
    for (const Argument& a : node->arguments) for_each_value(a, [&](const Value& v) { used_.insert(v); });
  for (const GraphOutput& o : graph_.outputs)
    if (auto* v = std::get_if<Value>(&o.value)) used_.insert(*v);
}

void Lowering::find_promises() {
  for (const GraphOutput& o : graph_.outputs) {
    auto* v = std::get_if<Value>(&o.value);
    if (!v || !o.strides_are_promised) continue;
    Value base = *v;
    while (auto next = viewed_value(*base.node)) base = *next;
    promised_.insert(base);
    promised_.insert(*v);
  }
}

void Lowering::lower_inputs() {
  auto add = [&](const Node* node, BufferKind kind) {
    const TensorMeta& meta = node->outputs[0];
    Buffer* b = new_buffer(node->name, meta.dtype, meta.sizes, meta.device);
    b->kind = kind;
    b->layout.kind = LayoutKind::kStrided;
    b->layout.strides = meta.strides;
    b->layout.offset = meta.storage_offset;
    b->source = node;
    eager_meta_[b] = &meta;
    views_[Value{const_cast<Node*>(node), 0}] = whole_view(context(), b);
    return b;
  };
  for (const Node* node : graph_.inputs) {
    if (node->symbol) {
      program_->parameters.emplace_back(node->symbol);
      continue;
    }
    Buffer* b = add(node, BufferKind::kInput);
    program_->inputs.push_back(b);
    program_->parameters.emplace_back(b);
  }
  for (const Node* node : graph_.nodes)
    if (node->kind == NodeKind::kConstant) add(node, BufferKind::kConstant);
}

void Lowering::fix_layout(const View& view, const TensorMeta& meta) {
  Buffer* b = view.buffer;
  if (b->kind != BufferKind::kComputed || b->layout.kind != LayoutKind::kFlexible || view.dtype != b->dtype) return;
  std::vector<Expr> strides(b->sizes.size());
  for (size_t k = 0; k < b->sizes.size(); ++k) {
    if (b->sizes[k].is_integer(1)) { strides[k] = integer(1); }
    for (size_t d = 0; d < view.axes.size(); ++d)
      if (view.coordinates[k] == view.axes[d]) strides[k] = meta.strides[d];
    if (!strides[k]) return;  // the result is itself a view of something else: decided at the return
  }
  b->layout.kind = LayoutKind::kStrided;
  b->layout.strides = std::move(strides);
  b->layout.wanted_order.clear();
  b->is_promised = true;
}

void Lowering::set_results(const Node& node, std::vector<View> views) {
  for (size_t k = 0; k < views.size(); ++k) {
    if (!views[k].buffer) continue;
    Value value{const_cast<Node*>(&node), static_cast<int>(k)};
    const TensorMeta& meta = node.outputs[k];
    LITZ_CHECK(views[k].rank() == meta.rank(), "{}: lowered to {} dimensions, expected {}", value_text(value), views[k].rank(),
               meta.rank());
    LITZ_CHECK(views[k].dtype == meta.dtype, "{}: lowered to {}, expected {}", value_text(value), dtype_name(views[k].dtype),
               dtype_name(meta.dtype));
    if (views[k].is_whole() && views[k].buffer->kind == BufferKind::kComputed) eager_meta_.try_emplace(views[k].buffer, &meta);
    if (promised_.contains(value)) fix_layout(views[k], meta);
    views_[value] = std::move(views[k]);
  }
}

std::optional<Unsupported> Lowering::lower_node(const Node& node) {
  if (node.kind == NodeKind::kConstant) return std::nullopt;
  if (node.op_name() == "aten.copy_") {
    const View target = view(node.argument("self").as<Value>());
    const View source = view(node.argument("src").as<Value>());
    if (is_complex(target.dtype) || is_complex(source.dtype)) return unsupported("aten.copy_ writes {}", dtype_name(target.dtype));
    write(node, target,
          [&](BodyBuilder& b, std::span<const Expr> index) { return b.cast(load_broadcast(b, source, index), target.dtype); });
    set_results(node, {view(node.argument("self").as<Value>())});
    return std::nullopt;
  }
  if (node.op->is_mutating) return unsupported("{} writes its argument; only aten.copy_ is taken", node.op->name);
  auto it = table().find(node.op->name);
  std::string reason = "no lowering";
  bool forced = std::find(options_.extern_ops.begin(), options_.extern_ops.end(), node.op->name) != options_.extern_ops.end();
  if (forced) reason = "asked for by an option";
  else if (it != table().end() && has_complex(node)) reason = "complex elements";
  else if (it != table().end()) {
    size_t operations = program_->operations.size();
    LoweringResult result = it->second(*this, node);
    if (result) {
      set_results(node, std::move(*result));
      return std::nullopt;
    }
    LITZ_CHECK(program_->operations.size() == operations, "{} refused after it had emitted operations: {}", node.op->name, result.reason());
    reason = result.reason();
  }
  bool is_expected = !forced && (node.op->is_random || (it == table().end() && (node.op->has_effect || is_attention(node.op->name))));
  if (!is_expected) program_->fallbacks.push_back({node.op->name, reason});
  set_results(node, extern_call(node, {}));
  return std::nullopt;
}

Result<std::unique_ptr<LoopProgram>> Lowering::run() {
  find_uses();
  find_promises();
  lower_inputs();
  for (const Node* node : graph_.nodes)
    if (auto refused = lower_node(*node)) return *refused;
  lower_outputs();
  for (Buffer* input : program_->inputs)
    if (auto it = newest_.find(input); it != newest_.end()) program_->mutations.push_back({input, it->second});
  verify(*program_);
  return std::move(program_);
}

Result<std::unique_ptr<LoopProgram>> lower_graph(const Graph& graph, const LoweringOptions& options) {
  return Lowering(graph, options).run();
}

std::vector<std::string_view> lowered_ops() {
  std::vector<std::string_view> names;
  for (const auto& [name, function] : table()) names.push_back(name);
  names.push_back("aten.copy_");
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace litz
