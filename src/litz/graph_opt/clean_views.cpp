#include "litz/graph_opt/clean_views.h"

#include <unordered_set>

#include "litz/graph/alias.h"
#include "litz/graph/builder.h"
#include "litz/graph/shape_rules.h"

namespace litz {
namespace {

/// The same elements at the same places: sizes, and strides of every dimension that has more than one element.
bool is_same_view(const TensorMeta& a, const TensorMeta& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes || !(a.device == b.device)) return false;
  for (size_t i = 0; i < a.rank(); ++i)
    if (!a.sizes[i].is_integer(1) && !(a.strides[i] == b.strides[i])) return false;
  auto offset = [](const TensorMeta& m) { return m.storage_offset && !m.storage_offset.is_integer(0) ? m.storage_offset : Expr(); };
  return offset(a) == offset(b);
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (std::string_view n : names)
    if (n == name) return true;
  return false;
}

bool is_reshape(const Node& n) { return is_one_of(n.op->name, {"aten.reshape", "aten.view"}); }

class ViewCleaner {
 public:
  explicit ViewCleaner(Graph& graph) : graph_(graph), alias_(graph) {
    for (const GraphOutput& o : graph.outputs)
      if (auto* v = std::get_if<Value>(&o.value)) returned_.insert(*v);
  }

  bool run() {
    for (Node* n : graph_.nodes) {
      for (Argument& a : n->arguments) for_each_value(a, [&](Value& v) { v = resolve(v); });
      if (n->kind == NodeKind::kCall && n->op->is_view && n->outputs.size() == 1 && n->arguments[0].is<Value>()) visit(*n);
    }
    graph_.renumber();
    return changed_;
  }

 private:
  Value resolve(Value v) const {
    auto found = map_.find(v);
    return found == map_.end() ? v : found->second;
  }

  void visit(Node& n) {
    while (join(n)) changed_ = true;
    const Value source = n.arguments[0].as<Value>();
    if (changes_nothing(n, source) && !returned_.contains(n.value())) {
      map_.emplace(n.value(), source);
      changed_ |= true;
    }
  }

  /// Whether the view may be read in place of its source: a reshape may have been a copy, which must stay one if the storage is
  /// written later or leaves the graph.
  bool changes_nothing(const Node& n, Value source) const {
    if (!is_same_view(n.outputs[0], source.meta())) return false;
    return is_one_of(n.op->name,
                     {"aten.alias", "aten.detach", "aten.lift_fresh", "aten.reshape", "aten.view", "aten.permute", "aten.expand",
                      "aten.slice.Tensor", "aten.squeeze.dims", "aten.as_strided", "aten.view.dtype", "aten.t", "aten.transpose.int"});
  }

  /// Rewrites n to start from its source's source where one view says both.
  bool join(Node& n) {
    const Value source = n.arguments[0].as<Value>();
    Node& s = *source.node;
    if (s.kind != NodeKind::kCall || !s.op->is_view || !s.arguments[0].is<Value>()) return false;
    const Value base = s.arguments[0].as<Value>();
    if (is_reshape(n) && is_reshape(s)) {
      if (!is_plain_view(s, base) || !is_plain_view(n, source)) return false;
      if (!view_strides(*graph_.context, base.meta(), n.outputs[0].sizes)) return false;
      n.arguments[0] = base;
      return true;
    }
    if (n.op->name == "aten.permute" && s.op->name == "aten.permute") {
      const ArgumentList inner = s.argument("dims").as<ArgumentList>();
      ArgumentList dims;
      for (const Argument& d : n.argument("dims").as<ArgumentList>())
        dims.push_back(wrap_dim(inner[wrap_dim(d.as<int64_t>(), inner.size())].as<int64_t>(), inner.size()));
      n.arguments[0] = base;
      n.arguments[n.op->argument_index("dims")] = dims;
      return true;
    }
    if (n.op->name == "aten.expand" && s.op->name == "aten.expand" && base.meta().rank() <= n.outputs[0].rank()) {
      n.arguments[0] = base;
      n.arguments[n.op->argument_index("size")] = GraphBuilder::size_list(n.outputs[0].sizes);
      return true;
    }
    return false;
  }

  /// A reshape that is a view for certain, not a copy.
  bool is_plain_view(const Node& n, Value source) const {
    return view_strides(*graph_.context, source.meta(), n.outputs[0].sizes).has_value();
  }

  Graph& graph_;
  AliasInfo alias_;
  ValueMap map_;
  std::unordered_set<Value, ValueHash> returned_;
  bool changed_ = false;
};

}  // namespace

bool clean_views(Graph& graph) { return ViewCleaner(graph).run(); }

}  // namespace litz
