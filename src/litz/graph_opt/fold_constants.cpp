#include "litz/graph_opt/fold_constants.h"

#include "litz/graph/alias.h"

namespace litz {
namespace {

bool has_constant_sizes(const Node& n) {
  for (const TensorMeta& m : n.outputs) {
    if (m.is_none) return false;
    for (Expr e : m.sizes)
      if (!e.is_integer()) return false;
    for (Expr e : m.strides)
      if (!e.is_integer()) return false;
  }
  return !n.outputs.empty() && n.symbol_outputs.empty();
}

bool depends_on_constants_alone(const Node& n, const AliasInfo& alias) {
  bool any = false, all = true;
  for (const Argument& a : n.arguments)
    for_each_value(a, [&](const Value& v) {
      any = true;
      all &= v.node->kind == NodeKind::kConstant && !alias.is_written(v);
    });
  return any && all;
}

}  // namespace

bool fold_constants(Graph& graph, ConstantEvaluator& evaluator) {
  const AliasInfo alias(graph);
  ValueMap map;
  std::vector<Node*> nodes;
  bool changed = false;
  for (Node* n : graph.nodes) {
    for (Argument& a : n->arguments)
      for_each_value(a, [&](Value& v) {
        auto found = map.find(v);
        if (found != map.end()) v = found->second;
      });
    bool may_fold = n->kind == NodeKind::kCall && !n->op->is_mutating && !n->op->is_random && !n->op->has_effect &&
                    has_constant_sizes(*n) && depends_on_constants_alone(*n, alias);
    for (int i = 0; may_fold && i < static_cast<int>(n->outputs.size()); ++i)
      may_fold = !alias.is_returned(n->value(i)) && !alias.is_written(n->value(i));
    if (!may_fold) {
      nodes.push_back(n);
      continue;
    }
    std::vector<std::string> names;
    for (size_t i = 0; i < n->outputs.size(); ++i) names.push_back(graph.unique_name(n->name));
    if (!evaluator.evaluate(*n, names)) {
      nodes.push_back(n);
      continue;
    }
    changed = true;
    for (int i = 0; i < static_cast<int>(n->outputs.size()); ++i) {
      Node* constant = graph.new_node(NodeKind::kConstant, names[i]);
      constant->name = names[i];
      constant->outputs = {n->outputs[i]};
      constant->outputs[0].storage_offset = Expr();
      constant->source = n->source;
      constant->is_imported = false;
      nodes.push_back(constant);
      map.emplace(n->value(i), constant->value());
    }
  }
  graph.nodes = std::move(nodes);
  graph.renumber();
  return changed;
}

}  // namespace litz
