#include "litz/decompose/decompose.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "litz/graph/argument.h"
#include "litz/graph/ops.h"
#include "litz/graph/shape_rules.h"
#include "litz/support/check.h"

namespace litz {
namespace {

struct Registry {
  std::vector<const Decomposition*> rows;
  std::unordered_map<std::string_view, const Decomposition*> by_name;
  Registry() {
    auto add = [&](std::span<const Decomposition> family) {
      for (const Decomposition& row : family) {
        LITZ_CHECK(by_name.emplace(row.op, &row).second, "two decompositions for {}", row.op);
        rows.push_back(&row);
      }
    };
#define LITZ_ADD_FAMILY(name) add(name##_decompositions());
    LITZ_DECOMPOSITION_FAMILIES(LITZ_ADD_FAMILY)
#undef LITZ_ADD_FAMILY
  }
};

const Registry& registry() {
  static const Registry registry;
  return registry;
}

/// Where the storage of a value comes from: the node that made it fresh.
Value storage_root(Value v) {
  while (v.node->kind == NodeKind::kCall && v.node->op->is_view) {
    const Argument& source = v.node->arguments[0];
    if (!source.is<Value>()) break;
    v = source.as<Value>();
  }
  return v;
}

bool same_layout(const TensorMeta& a, const TensorMeta& b) {
  for (size_t i = 0; i < a.rank(); ++i)
    if (!a.sizes[i].is_integer(1) && !(a.strides[i] == b.strides[i])) return false;
  return true;
}

/// Whether a call on complex numbers, which goes to the framework, has a number where the framework wants a tensor; in arithmetic it takes
/// either.
bool has_complex_number_for_tensor(const Node* n) {
  if (!has_complex(*n)) return false;
  bool has_number = false;
  for (size_t k = 0; k < n->arguments.size(); ++k) {
    const Argument& a = n->arguments[k];
    has_number |= n->op->arguments[k].type == ArgType::kTensor && !n->op->arguments[k].is_list && !a.is<Value>() && !a.is<None>();
  }
  const std::string& name = n->op->name;
  const bool is_arithmetic =
      name == "aten.add.Tensor" || name == "aten.sub.Tensor" || name == "aten.mul.Tensor" || name == "aten.div.Tensor";
  return has_number && !is_arithmetic;
}

class Decomposer {
 public:
  Decomposer(Graph& graph, const DecomposeOptions& options) : graph_(graph), options_(options) {}

  bool run() {
    std::vector<Node*> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    nodes_.reserve(old.size() * 3);
    GraphBuilder builder(graph_, nodes_);
    for (Node* n : old) {
      for (Argument& a : n->arguments) for_each_value(a, [&](Value& v) { v = resolve(v); });
      if (n->kind != NodeKind::kCall || !replace(builder, n)) nodes_.push_back(n);
    }
    graph_.nodes = std::move(nodes_);
    for (GraphOutput& o : graph_.outputs)
      if (auto* v = std::get_if<Value>(&o.value)) *v = resolve(*v);
    graph_.renumber();
    return !map_.empty();
  }

 private:
  Value resolve(Value v) const {
    auto found = map_.find(v);
    return found == map_.end() ? v : found->second;
  }

  bool replace(GraphBuilder& builder, Node* n) {
    const Decomposition* row = find_decomposition(n->op->name);
    if (!row || std::find(options_.keep.begin(), options_.keep.end(), n->op->name) != options_.keep.end()) return false;
    const size_t begin = nodes_.size();
    builder.set_origin(n->source, "");
    Rewrite rewrite(builder, *n);
    Replacement values;
    try {
      values = row->function(rewrite);
    } catch (const NeedsNumber&) { nodes_.resize(begin); }
    if (std::any_of(nodes_.begin() + static_cast<int64_t>(begin), nodes_.end(), has_complex_number_for_tensor)) {
      nodes_.resize(begin);
      values.clear();
    }
    if (values.empty()) {
      LITZ_CHECK(nodes_.size() == begin, "the decomposition of {} made nodes and refused", n->op->name);
      return false;
    }
    LITZ_CHECK(values.size() == n->outputs.size(), "the decomposition of {} gave {} results, expected {}", n->op->name, values.size(),
               n->outputs.size());
    const std::unordered_set<const Node*> built(nodes_.begin() + static_cast<int64_t>(begin), nodes_.end());
    std::unordered_set<const Node*> finished;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i]) continue;
      values[i] = finish(builder, *n, *row, values[i], n->outputs[i], built, finished);
      map_.emplace(Value{n, static_cast<int>(i)}, values[i]);
    }
    if (values[0] && built.contains(values[0].node)) std::swap(values[0].node->name, n->name);
    return true;
  }

  /// Gives the value the metadata of what it replaces, and a copy where it must be fresh or laid out otherwise.
  Value finish(GraphBuilder& builder, const Node& n, const Decomposition& row, Value v, const TensorMeta& wanted,
               const std::unordered_set<const Node*>& built, std::unordered_set<const Node*>& finished) {
    const TensorMeta& m = v.meta();
    LITZ_CHECK(m.dtype == wanted.dtype, "the decomposition of {} gave {}, expected {}", n.op->name, to_text(m), to_text(wanted));
    LITZ_CHECK(m.rank() == wanted.rank(), "the decomposition of {} gave {}, expected {}", n.op->name, to_text(m), to_text(wanted));
    for (size_t i = 0; i < m.rank(); ++i)
      LITZ_CHECK(!(m.sizes[i].is_integer() && wanted.sizes[i].is_integer()) || m.sizes[i] == wanted.sizes[i],
                 "the decomposition of {} gave {}, expected {}", n.op->name, to_text(m), to_text(wanted));
    const bool must_be_fresh = !n.op->is_view && !row.may_alias;
    const bool is_fresh = built.contains(storage_root(v).node) || (v.node->kind == NodeKind::kCall && finished_copies_.contains(v.node));
    const bool is_own = built.contains(v.node) && !finished.contains(v.node);
    const bool is_view = v.node->kind == NodeKind::kCall && v.node->op->is_view;
    const bool is_mutation = v.node->kind == NodeKind::kCall && v.node->op->is_mutating;
    if ((must_be_fresh && !is_fresh) || (must_be_fresh && (is_view || !is_own) && !is_mutation && !same_layout(m, wanted))) {
      Value copy = builder.call("aten.clone", {v});
      copy.node->outputs[0] = wanted;
      finished_copies_.insert(copy.node);
      return copy;
    }
    if (is_own) {
      if (v.node->outputs.size() == 1) finished.insert(v.node);
      v.node->outputs[v.output] = wanted;
    }
    return v;
  }

  Graph& graph_;
  const DecomposeOptions& options_;
  std::vector<Node*> nodes_;
  ValueMap map_;
  std::unordered_set<const Node*> finished_copies_;
};

}  // namespace

const Decomposition* find_decomposition(std::string_view op_name) {
  auto found = registry().by_name.find(op_name);
  return found == registry().by_name.end() ? nullptr : found->second;
}

std::span<const Decomposition* const> decompositions() { return registry().rows; }

bool decompose(Graph& graph, const DecomposeOptions& options) { return Decomposer(graph, options).run(); }

}  // namespace litz
