#include "litz/graph_opt/eliminate_dead_code.h"

#include <algorithm>
#include <unordered_set>

#include "litz/symbolic/computed.h"

namespace litz {
namespace {

class Liveness {
 public:
  bool is_live(const Node& n) const {
    if (n.kind == NodeKind::kCall && (n.op->is_mutating || n.op->is_random || n.op->has_effect)) return true;
    if (live_.contains(&n)) return true;
    for (const TensorMeta& m : n.outputs)
      for (Expr e : m.sizes)
        if (brings_used_symbol(e)) return true;
    return std::any_of(n.symbol_outputs.begin(), n.symbol_outputs.end(), [&](Expr e) { return brings_used_symbol(e); });
  }

  void use(const Node& n) {
    for (const Argument& a : n.arguments) use(a);
    for (const TensorMeta& m : n.outputs) {
      for (Expr e : m.sizes) use(e);
      for (Expr e : m.strides) use(e);
      use(m.storage_offset);
    }
  }
  void use(Value v) { live_.insert(v.node); }
  void use(Expr e) {
    if (!e || e.is_integer()) return;
    for (Expr s : base_symbols(e))
      if (s.symbol_kind() == SymbolKind::kUnbacked) symbols_.insert(s);
  }

 private:
  void use(const Argument& a) {
    if (a.is<Value>()) use(a.as<Value>());
    if (a.is<Expr>()) use(a.as<Expr>());
    if (a.is<ArgumentList>())
      for (const Argument& element : a.as<ArgumentList>()) use(element);
  }
  bool brings_used_symbol(Expr e) const {
    if (symbols_.empty() || !e || e.is_integer()) return false;
    for (Expr s : free_symbols(e))
      if (symbols_.contains(s)) return true;
    return false;
  }

  std::unordered_set<const Node*> live_;
  std::unordered_set<Expr> symbols_;
};

}  // namespace

bool eliminate_dead_code(Graph& graph) {
  Liveness liveness;
  for (const GraphOutput& o : graph.outputs) {
    if (auto* v = std::get_if<Value>(&o.value)) liveness.use(*v);
    if (auto* e = std::get_if<Expr>(&o.value)) liveness.use(*e);
  }
  std::vector<Node*> kept;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node* n = graph.nodes[i];
    if (!liveness.is_live(*n)) continue;
    liveness.use(*n);
    kept.push_back(n);
  }
  const bool changed = kept.size() != graph.nodes.size();
  graph.nodes.assign(kept.rbegin(), kept.rend());
  graph.renumber();
  return changed;
}

}  // namespace litz
