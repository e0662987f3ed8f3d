#include "litz/graph/alias.h"

namespace litz {
namespace {

/// The first tensor in an argument, lists included.
Value first_value(const Argument& a) {
  Value first;
  for_each_value(a, [&](const Value& v) {
    if (!first) first = v;
  });
  return first;
}

}  // namespace

Value aliased_argument(const Node& node, int output) {
  if (node.kind != NodeKind::kCall || node.op->returns.empty()) return {};
  // One list result spreads over the outputs.
  const auto& returns = node.op->returns;
  const SchemaReturn& r = returns.size() == 1 ? returns[0] : returns[std::min<size_t>(output, returns.size() - 1)];
  if (r.alias_set.empty()) return {};
  for (size_t i = 0; i < node.op->arguments.size(); ++i) {
    if (node.op->arguments[i].alias_set != r.alias_set) continue;
    const Argument& a = node.arguments[i];
    // _foreach_add_(Tensor(a!)[] self) -> Tensor(a!)[]: element by element.
    if (a.is<ArgumentList>() && r.is_list && output < static_cast<int>(a.as<ArgumentList>().size()))
      return first_value(a.as<ArgumentList>()[output]);
    if (Value v = first_value(a)) return v;
  }
  return {};
}

AliasInfo::AliasInfo(const Graph& graph) {
  for (size_t place = 0; place < graph.nodes.size(); ++place) {
    const Node* n = graph.nodes[place];
    if (n->kind != NodeKind::kCall) continue;
    for (int i = 0; i < static_cast<int>(n->outputs.size()); ++i)
      if (Value source = aliased_argument(*n, i)) roots_.emplace(Value{const_cast<Node*>(n), i}, root(source));
    if (!n->op->is_mutating) continue;
    for (size_t i = 0; i < n->arguments.size(); ++i) {
      if (!n->op->arguments[i].is_written) continue;
      for_each_value(n->arguments[i], [&](const Value& v) {
        written_.insert(root(v));
        last_write_[root(v)] = place;
      });
    }
  }
  for (const GraphOutput& o : graph.outputs)
    if (auto* v = std::get_if<Value>(&o.value)) returned_.insert(root(*v));
}

Value AliasInfo::root(Value v) const {
  auto found = roots_.find(v);
  return found == roots_.end() ? v : found->second;
}

bool AliasInfo::is_written_from(Value v, size_t place) const {
  auto found = last_write_.find(root(v));
  return found != last_write_.end() && found->second >= place;
}

}  // namespace litz
