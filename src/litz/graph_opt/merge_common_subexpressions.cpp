#include "litz/graph_opt/merge_common_subexpressions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "litz/graph/alias.h"
#include "litz/graph/argument.h"

namespace litz {
namespace {

size_t mix(size_t seed, size_t value) { return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2)); }

size_t hash_of(const Argument& a) {
  const size_t kind = a.index();
  if (a.is<Value>()) return mix(kind, ValueHash()(a.as<Value>()));
  if (a.is<int64_t>()) return mix(kind, std::hash<int64_t>()(a.as<int64_t>()));
  if (a.is<double>()) return mix(kind, std::hash<double>()(a.as<double>()));
  if (a.is<bool>()) return mix(kind, a.as<bool>());
  if (a.is<Expr>()) return mix(kind, a.as<Expr>().hash());
  if (a.is<DType>()) return mix(kind, static_cast<size_t>(a.as<DType>()));
  if (a.is<ArgumentList>()) {
    size_t h = kind;
    for (const Argument& element : a.as<ArgumentList>()) h = mix(h, hash_of(element));
    return h;
  }
  return kind;  // the rest compares by value below
}

bool same_meta(const TensorMeta& a, const TensorMeta& b) {
  if (a.is_none || b.is_none) return a.is_none == b.is_none;
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides && a.device == b.device;
}

class Merger {
 public:
  explicit Merger(Graph& graph) : graph_(graph), alias_(graph) {
    for (const GraphOutput& o : graph.outputs)
      if (auto* v = std::get_if<Value>(&o.value)) returned_.insert(*v);
  }

  bool run() {
    std::vector<Node*> kept;
    for (Node* n : graph_.nodes) {
      for (Argument& a : n->arguments)
        for_each_value(a, [&](Value& v) {
          auto found = map_.find(v);
          if (found != map_.end()) v = found->second;
        });
      Node* earlier = may_merge(*n) ? find(n) : nullptr;
      if (!earlier) {
        kept.push_back(n);
        continue;
      }
      earlier->is_imported |= n->is_imported;
      for (int i = 0; i < static_cast<int>(n->outputs.size()); ++i) {
        map_.emplace(n->value(i), earlier->value(i));
        if (returned_.contains(n->value(i))) returned_.insert(earlier->value(i));
        if (alias_.is_returned(n->value(i))) now_returned_.insert(alias_.root(earlier->value(i)));
      }
    }
    const bool changed = kept.size() != graph_.nodes.size();
    graph_.nodes = std::move(kept);
    replace_uses(graph_, map_);
    graph_.renumber();
    return changed;
  }

 private:
  bool may_merge(const Node& n) const {
    if (n.kind != NodeKind::kCall || n.op->is_mutating || n.op->is_random || n.op->has_effect || !n.symbol_outputs.empty()) return false;
    bool is_written = false;
    for (const Argument& a : n.arguments) for_each_value(a, [&](const Value& v) { is_written |= alias_.is_written(v); });
    for (int i = 0; i < static_cast<int>(n.outputs.size()); ++i) is_written |= alias_.is_written(Value{const_cast<Node*>(&n), i});
    return !is_written;
  }

  bool leaves(Value v) const { return alias_.is_returned(v) || now_returned_.contains(alias_.root(v)); }

  bool is_same(Node& a, Node& b) const {
    if (a.op != b.op || a.arguments.size() != b.arguments.size() || a.outputs.size() != b.outputs.size()) return false;
    for (size_t i = 0; i < a.arguments.size(); ++i)
      if (!same_argument(a.arguments[i], b.arguments[i])) return false;
    for (int i = 0; i < static_cast<int>(a.outputs.size()); ++i) {
      if (!same_meta(a.outputs[i], b.outputs[i])) return false;
      if (returned_.contains(a.value(i)) && returned_.contains(b.value(i))) return false;
      if (!a.op->is_view && leaves(a.value(i)) && leaves(b.value(i))) return false;
    }
    return true;
  }

  Node* find(Node* n) {
    size_t h = std::hash<const void*>()(n->op);
    for (const Argument& a : n->arguments) h = mix(h, hash_of(a));
    auto& bucket = table_[h];
    for (Node* candidate : bucket)
      if (is_same(*candidate, *n)) return candidate;
    bucket.push_back(n);
    return nullptr;
  }

  Graph& graph_;
  AliasInfo alias_;
  ValueMap map_;
  std::unordered_set<Value, ValueHash> returned_, now_returned_;
  std::unordered_map<size_t, std::vector<Node*>> table_;
};

}  // namespace

bool merge_common_subexpressions(Graph& graph) { return Merger(graph).run(); }

}  // namespace litz
