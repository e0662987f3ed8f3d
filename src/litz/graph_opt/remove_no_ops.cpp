#include "litz/graph_opt/remove_no_ops.h"

#include "litz/graph/alias.h"

namespace litz {
namespace {

bool same_layout(const TensorMeta& a, const TensorMeta& b) {
  if (a.sizes != b.sizes || !(a.device == b.device) || a.dtype != b.dtype) return false;
  for (size_t i = 0; i < a.rank(); ++i)
    if (!a.sizes[i].is_integer(1) && !(a.strides[i] == b.strides[i])) return false;
  return true;
}

/// Every value of `narrow` is a value of `wide`.
bool holds_all(DType wide, DType narrow) {
  if (wide == narrow) return true;
  if (!is_floating(wide) || !is_floating(narrow)) return false;
  switch (narrow) {
    case DType::kBFloat16:
    case DType::kFloat16: return wide == DType::kFloat32 || wide == DType::kFloat64;
    case DType::kFloat32: return wide == DType::kFloat64;
    default: return false;
  }
}

bool is_built_cast(const Node& n) { return n.kind == NodeKind::kCall && !n.is_imported && n.op->name == "prims.convert_element_type"; }

/// The value that this node repeats, or null.
Value repeated(const Node& n) {
  if (n.kind != NodeKind::kCall) return {};
  if (n.op->name == "aten.clone") return n.arguments[0].as<Value>();
  if (!is_built_cast(n)) return {};
  const Value source = n.arguments[0].as<Value>();
  if (source.meta().dtype == n.outputs[0].dtype) return source;
  // Widened and narrowed again, both by Litz: x as it was.
  if (!is_built_cast(*source.node)) return {};
  const Value first = source.node->arguments[0].as<Value>();
  const bool is_round_trip = first.meta().dtype == n.outputs[0].dtype && holds_all(source.meta().dtype, first.meta().dtype);
  return is_round_trip ? first : Value{};
}

Expr offset_of(const Graph& graph, Value v) {
  const TensorMeta& meta = v.meta();
  return meta.storage_offset ? meta.storage_offset : graph.context->integer(0);
}

/// The storages in which as_strided and its kin count elements: these begin where eager has them begin.
std::unordered_set<Value, ValueHash> counted_storages(const Graph& graph, const AliasInfo& alias) {
  std::unordered_set<Value, ValueHash> out;
  for (const Node* n : graph.nodes)
    if (n->kind == NodeKind::kCall && n->op->name.starts_with("aten.as_strided")) out.insert(alias.root(n->arguments[0].as<Value>()));
  return out;
}

}  // namespace

bool remove_no_ops(Graph& graph) {
  const AliasInfo alias(graph);
  const auto counted = counted_storages(graph, alias);
  ValueMap map;
  auto resolve = [&](Value v) {
    auto found = map.find(v);
    return found == map.end() ? v : found->second;
  };
  std::vector<Node*> kept;
  for (size_t place = 0; place < graph.nodes.size(); ++place) {
    Node* n = graph.nodes[place];
    for (Argument& a : n->arguments) for_each_value(a, [&](Value& v) { v = resolve(v); });
    const Value source = repeated(*n);
    const bool is_removed = source && same_layout(source.meta(), n->outputs[0]) && !alias.is_returned(n->value()) &&
                            !alias.is_written(n->value()) && !alias.is_written_from(source, place) &&
                            (offset_of(graph, source) == offset_of(graph, n->value()) || !counted.contains(alias.root(n->value())));
    if (is_removed) map.emplace(n->value(), source);
    else kept.push_back(n);
  }
  graph.nodes = std::move(kept);
  graph.renumber();
  return !map.empty();
}

}  // namespace litz
