#include "litz/graph_opt/fold_constants.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "litz/graph/alias.h"
#include "litz/graph/builder.h"
#include "litz/graph/ops.h"

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

/// Pointwise ops that cost a kernel more than loading their result.
constexpr std::array kExpensive = std::to_array<std::string_view>({"aten.acos",
                                                                   "aten.acosh",
                                                                   "aten.asin",
                                                                   "aten.asinh",
                                                                   "aten.atan",
                                                                   "aten.atan2",
                                                                   "aten.atanh",
                                                                   "aten.cos",
                                                                   "aten.cosh",
                                                                   "aten.digamma",
                                                                   "aten.erf",
                                                                   "aten.erfc",
                                                                   "aten.erfinv",
                                                                   "aten.exp",
                                                                   "aten.exp2",
                                                                   "aten.expm1",
                                                                   "aten.lgamma",
                                                                   "aten.log",
                                                                   "aten.log10",
                                                                   "aten.log1p",
                                                                   "aten.log2",
                                                                   "aten.pow.Scalar",
                                                                   "aten.pow.Tensor_Scalar",
                                                                   "aten.pow.Tensor_Tensor",
                                                                   "aten.sigmoid",
                                                                   "aten.sin",
                                                                   "aten.sinh",
                                                                   "aten.tan",
                                                                   "aten.tanh"});
static_assert(std::is_sorted(kExpensive.begin(), kExpensive.end()));

bool has_symbols(const Argument& a) {
  if (a.is<Expr>()) return !a.as<Expr>().is_integer();
  if (!a.is<ArgumentList>()) return false;
  const ArgumentList& list = a.as<ArgumentList>();
  return std::any_of(list.begin(), list.end(), [](const Argument& element) { return has_symbols(element); });
}

bool is_cheap(const Node& n) {
  const Primitive* p = find_primitive(n.op_name());
  if (!p) return false;
  if (p->family == OpFamily::kPointwise) return !std::binary_search(kExpensive.begin(), kExpensive.end(), n.op_name());
  return p->family == OpFamily::kCast || p->family == OpFamily::kView || p->family == OpFamily::kFactory;
}

class Folder {
 public:
  Folder(Graph& graph, ConstantEvaluator& evaluator) : graph_(graph), evaluator_(evaluator), alias_(graph) {}

  bool run() {
    for (Node* n : graph_.nodes)
      if (may_fold(*n) && evaluator_.evaluate(*n)) folded_.insert(n);
    for (const Node* n : graph_.nodes)
      if (!is_folded(n)) need_arguments(*n);
    // A view that somebody needs stays, and needs what it views.
    for (size_t k = graph_.nodes.size(); k-- > 0;)
      if (Node* n = graph_.nodes[k]; is_folded(n) && n->op->is_view && needed_.contains(n)) need_arguments(*n);
    ValueMap map;
    std::vector<Node*> nodes;
    for (Node* n : graph_.nodes) {
      if (is_folded(n) && !n->op->is_view && needed_.contains(n)) replace(*n, nodes, map);
      nodes.push_back(n);
    }
    if (map.empty()) return false;
    graph_.nodes = std::move(nodes);
    replace_uses(graph_, map);
    drop_unused();
    graph_.renumber();
    return true;
  }

 private:
  bool is_folded(const Node* n) const { return folded_.contains(n); }

  bool is_constant(const Value& v) const {
    if (alias_.is_written(v)) return false;
    return v.node->kind == NodeKind::kConstant || is_folded(v.node);
  }

  bool may_fold(Node& n) const {
    if (n.kind != NodeKind::kCall || n.op->is_mutating || n.op->is_random || n.op->has_effect || !has_constant_sizes(n)) return false;
    bool constant = std::none_of(n.arguments.begin(), n.arguments.end(), has_symbols);
    for (const Argument& a : n.arguments) for_each_value(a, [&](const Value& v) { constant &= is_constant(v); });
    for (int i = 0; constant && i < static_cast<int>(n.outputs.size()); ++i)
      constant = !alias_.is_returned(n.value(i)) && !alias_.is_written(n.value(i));
    if (constant && !find_primitive(n.op_name())) {
      // Without a tensor among its arguments an op that is no primitive may make anything: what it read is not seen here.
      bool any = false;
      for (const Argument& a : n.arguments) for_each_value(a, [&](const Value&) { any = true; });
      return any;
    }
    return constant;
  }

  void need_arguments(const Node& n) {
    for (const Argument& a : n.arguments) for_each_value(a, [&](const Value& v) { needed_.insert(v.node); });
  }

  /// Whether a stored result saves a kernel more than the load: a value below it is data, or was expensive.
  bool is_worth_storing(const Node* n) {
    auto [it, fresh] = worth_.emplace(n, false);
    if (!fresh) return it->second;
    bool worth = n->kind == NodeKind::kCall && !is_cheap(*n);
    for (const Argument& a : n->arguments)
      for_each_value(a, [&](const Value& v) { worth = worth || v.node->kind == NodeKind::kConstant || is_worth_storing(v.node); });
    return worth_[n] = worth;
  }

  void replace(Node& n, std::vector<Node*>& nodes, ValueMap& map) {
    GraphBuilder builder(graph_, nodes);
    for (int i = 0; i < static_cast<int>(n.outputs.size()); ++i) {
      const TensorMeta& meta = n.outputs[i];
      if (meta.strides != contiguous_strides(*graph_.context, meta.sizes)) continue;
      builder.set_origin(n.source, n.name);
      if (auto number = evaluator_.uniform(n.value(i))) {
        if (n.op_name() != "aten.full") map.emplace(n.value(i), builder.full(meta.sizes, std::move(*number), meta.dtype, meta.device));
        continue;
      }
      if (!is_worth_storing(&n)) continue;
      const std::string name = graph_.unique_name(n.name);
      if (!evaluator_.store(n.value(i), name)) continue;
      Node* constant = graph_.new_node(NodeKind::kConstant, name);
      constant->name = name;
      constant->outputs = {meta};
      constant->outputs[0].storage_offset = Expr();
      constant->source = n.source;
      constant->is_imported = false;
      nodes.push_back(constant);
      map.emplace(n.value(i), constant->value());
    }
  }

  /// What was computed only for what is folded now.
  void drop_unused() {
    std::unordered_set<const Node*> used;
    for (const GraphOutput& o : graph_.outputs)
      if (auto* v = std::get_if<Value>(&o.value)) used.insert(v->node);
    std::vector<Node*> kept;
    for (size_t k = graph_.nodes.size(); k-- > 0;) {
      Node* n = graph_.nodes[k];
      if (is_folded(n) && !used.contains(n)) continue;
      for (const Argument& a : n->arguments) for_each_value(a, [&](const Value& v) { used.insert(v.node); });
      kept.push_back(n);
    }
    graph_.nodes.assign(kept.rbegin(), kept.rend());
  }

  Graph& graph_;
  ConstantEvaluator& evaluator_;
  const AliasInfo alias_;
  std::unordered_set<const Node*> folded_, needed_;
  std::unordered_map<const Node*, bool> worth_;
};

}  // namespace

bool fold_constants(Graph& graph, ConstantEvaluator& evaluator) { return Folder(graph, evaluator).run(); }

}  // namespace litz
