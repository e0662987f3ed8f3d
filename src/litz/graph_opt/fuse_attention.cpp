#include "litz/graph_opt/fuse_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "litz/graph/shape_rules.h"
#include "litz/graph_opt/eliminate_dead_code.h"
#include "litz/graph_opt/match_attention.h"

namespace litz {
namespace {

constexpr double kLeast = -1e30;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class AttentionBuilder {
 public:
  AttentionBuilder(GraphBuilder& builder, const AxisTable& axes, const AttentionMatch& match, const AttentionCall& call)
      : b_(builder),
        axes_(axes),
        m_(match),
        call_(call),
        type_(match.query.value.meta().dtype) {}

  /// What replaces the result of the second product.
  Value build() {
    const Value query = operand(m_.query, m_.queries, m_.width), key = operand(m_.key, m_.keys, m_.width);
    const Value value = operand(m_.value, m_.keys, m_.value_width);
    const OpSchema* op = b_.graph().schema(call_.schema);
    std::vector<Argument> arguments{query, key, value};
    for (size_t i = 3; i < op->arguments.size(); ++i) arguments.push_back(argument(op->arguments[i]));
    std::vector<TensorMeta> results{output(query)};
    for (AttentionResult r : call_.results) results.push_back(result(r));
    Node* node = b_.foreign(op, std::move(arguments), std::move(results));
    Value y = axes_.arrange(b_, node->value(), {m_.batch, m_.heads, m_.queries, m_.value_width}, m_.output);
    return b_.to(y, m_.product->outputs[0].dtype);
  }

 private:
  Expr integer(int64_t v) { return b_.context().integer(v); }

  Argument argument(const SchemaArgument& a) {
    if (!m_.changes.empty() && a.name == call_.bias_argument) return bias();
    if (a.name == "scale") return m_.scale;
    if (std::find(call_.off_arguments.begin(), call_.off_arguments.end(), a.name) != call_.off_arguments.end()) return false;
    auto value = default_argument(a);
    LITZ_CHECK(value || a.is_optional, "argument '{}' of {} has no value", a.name, call_.schema);
    return value ? *value : Argument(None{});
  }

  /// Libraries ask for dense rows that start at multiples of their unit.
  Value operand(const AttentionOperand& o, const AxisList& rows, const AxisList& columns) {
    Value v = axes_.arrange(b_, o.value, o.axes, {m_.batch, m_.heads, rows, columns});
    const int64_t unit = row_unit();
    bool fits = v.meta().strides[3].is_integer(1);
    for (size_t d = 0; d < 3; ++d) fits &= v.meta().sizes[d].is_integer(1) || mod(v.meta().strides[d], unit).is_integer(0);
    if (fits) return v;
    return b_.call("aten.clone", {v, MemoryFormat::kContiguous});
  }

  int64_t row_unit() const { return std::max<int64_t>(1, call_.row_bytes / dtype_bytes(type_)); }

  /// The mask with dimensions [batch, heads, queries, keys], of size 1 where it does not change.
  Value spread(const ScoreChange& c) {
    const DimensionAxes dims = axes_.resolve(c.axes);
    const std::vector<Expr>& sizes = c.mask.meta().sizes;
    AxisList present;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (!sizes[i].is_integer(1))
        for (int a : dims[dims.size() - sizes.size() + i]) present.push_back(a);
    auto has = [&](int a) { return std::find(present.begin(), present.end(), a) != present.end(); };
    // Every axis a dimension of its own, in the order of the call; then those of one dimension together.
    AxisList order;
    std::vector<Expr> apart, full, merged;
    for (const AxisList& group : {m_.batch, m_.heads, m_.queries, m_.keys}) {
      const bool any = std::any_of(group.begin(), group.end(), has);
      for (int a : group) {
        if (has(a)) order.push_back(a);
        apart.push_back(has(a) ? axes_.size(a) : integer(1));
        full.push_back(any ? axes_.size(a) : integer(1));
      }
      merged.push_back(any ? axes_.size(group) : integer(1));
    }
    DimensionAxes one_each;
    for (int a : order) one_each.push_back({a});
    Value v = axes_.arrange(b_, c.mask, {present}, one_each);
    return b_.reshape(b_.expand(b_.reshape(v, apart), full), merged);
  }

  /// All masks as one that is added.
  Value masks() {
    const DType wide = opmath_type(type_);
    Value sum;
    for (auto c = m_.changes.rbegin(); c != m_.changes.rend(); ++c) {
      const Value mask = spread(*c);
      if (!c->is_fill) {
        Value term = b_.to(mask, wide);
        if (c->factor != 1) term = b_.mul(term, c->factor);
        sum = sum ? b_.add(sum, term) : term;
        continue;
      }
      const double fill = std::max(c->fill, c->fill == -kInfinity ? c->fill : kLeast);
      const Value before = sum ? sum : b_.full({}, 0.0, wide, mask.meta().device);
      sum = c->fills_where ? b_.where(mask, fill, before) : b_.where(mask, before, fill);
    }
    return sum;
  }

  Value bias() {
    std::vector<Expr> sizes{axes_.size(m_.batch), axes_.size(m_.heads), axes_.size(m_.queries), axes_.size(m_.keys)};
    Value v = masks();
    std::vector<Expr> own = v.meta().sizes;
    own[3] = sizes[3];
    v = b_.expand(v, own);
    const bool may_be_far = std::any_of(m_.changes.begin(), m_.changes.end(), [](const ScoreChange& c) { return !c.is_fill; });
    const bool may_be_infinite =
        may_be_far || std::any_of(m_.changes.begin(), m_.changes.end(), [](const ScoreChange& c) { return c.fill == -kInfinity; });
    if (may_be_far && type_ != DType::kFloat16) {
      const Value is_far = b_.call("aten.logical_and", {b_.lt(v, kLeast), b_.gt(v, -kInfinity)});
      v = b_.where(is_far, kLeast, v);
    }
    if (may_be_infinite && !m_.is_safe) {
      const Value highest = b_.call("aten.amax", {v, GraphBuilder::int_list({-1}), true});
      v = b_.where(b_.eq(highest, -kInfinity), std::numeric_limits<double>::quiet_NaN(), v);
    }
    v = b_.to(v, type_);
    const int64_t unit = row_unit();
    const Expr columns = sizes[3], padded = ceil_div(columns, unit) * unit;
    if (!(padded == columns)) {
      v = b_.call("aten.constant_pad_nd", {v, ArgumentList{int64_t{0}, GraphBuilder::size_argument(padded - columns)}, int64_t{0}});
      v = b_.slice(v, 3, integer(0), columns);
    }
    return b_.expand(v, sizes);
  }

  TensorMeta fresh(DType type, std::vector<Expr> sizes) {
    TensorMeta meta;
    meta.dtype = type;
    meta.strides = contiguous_strides(b_.context(), sizes);
    meta.sizes = std::move(sizes);
    meta.device = m_.query.value.meta().device;
    return meta;
  }

  TensorMeta output(Value query) {
    const std::vector<Expr> sizes{axes_.size(m_.batch), axes_.size(m_.heads), axes_.size(m_.queries), axes_.size(m_.value_width)};
    std::vector<size_t> order{0, 2, 1, 3};
    if (call_.output_follows_query) {
      // As the query's dimensions lie in memory; ties and unknown sizes: rows before heads.
      auto stride = [&](size_t d) { return value_at_capture(query.meta().strides[d]).value_or(0); };
      std::stable_sort(order.begin(), order.end() - 1, [&](size_t a, size_t b) { return stride(a) > stride(b); });
    }
    TensorMeta meta = fresh(type_, sizes);
    Expr step = integer(1);
    for (size_t k = 4; k-- > 0;) {
      meta.strides[order[k]] = step;
      step = step * max(sizes[order[k]], integer(1));
    }
    return meta;
  }

  TensorMeta result(AttentionResult kind) {
    const Expr batch = axes_.size(m_.batch), heads = axes_.size(m_.heads), queries = axes_.size(m_.queries);
    switch (kind) {
      case AttentionResult::kNoRowSums: return fresh(DType::kFloat32, {batch, heads, integer(0)});
      case AttentionResult::kSeed: return fresh(DType::kInt64, {});
      case AttentionResult::kHeadsInRow: break;
    }
    TensorMeta meta = fresh(opmath_type(type_), {batch, heads, queries});
    meta.strides = {queries * heads, integer(1), heads};
    return meta;
  }

  GraphBuilder& b_;
  const AxisTable& axes_;
  const AttentionMatch& m_;
  const AttentionCall& call_;
  DType type_;
};

AttentionShape shape_of(const AxisTable& axes, const AttentionMatch& m) {
  auto size = [&](const AxisList& list) { return value_at_capture(axes.size(list)).value_or(0); };
  AttentionShape s;
  s.dtype = m.query.value.meta().dtype;
  s.batch = size(m.batch), s.heads = size(m.heads), s.queries = size(m.queries), s.keys = size(m.keys);
  s.width = size(m.width), s.value_width = size(m.value_width);
  return s;
}

}  // namespace

bool fuse_attention(Graph& graph, const std::function<Result<AttentionCall>(const AttentionShape&)>& call,
                    std::vector<AttentionRefusal>& refusals) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const Node* n) { return AttentionMatcher::is_softmax(*n); })) return false;
  AxisTable axes(*graph.context);
  AttentionMatcher matcher(graph, axes);
  std::unordered_map<const Node*, std::pair<AttentionMatch, AttentionCall>> found;  // by the second product
  for (Node* n : graph.nodes) {
    if (!AttentionMatcher::is_softmax(*n) || !matcher.is_candidate(*n)) continue;
    auto match = matcher.match(*n);
    if (!match) {
      refusals.push_back({n->name, match.reason()});
      continue;
    }
    auto answer = call(shape_of(axes, *match));
    if (answer) found.emplace(match->product, std::pair(*match, *answer));
    else refusals.push_back({n->name, answer.reason()});
  }
  if (found.empty()) return false;
  std::vector<Node*> made;
  GraphBuilder builder(graph, made);
  ValueMap replaced;
  rewrite_nodes(graph, made, [&](Node& n) {
    const auto it = found.find(&n);
    if (it == found.end()) return Value{};
    auto& [match, answer] = it->second;
    // A tensor of this attention may be the result of an earlier one.
    auto renew = [&](Value& v) {
      if (auto known = replaced.find(v); known != replaced.end()) v = known->second;
    };
    for (AttentionOperand* o : {&match.query, &match.key, &match.value}) renew(o->value);
    for (ScoreChange& c : match.changes) renew(c.mask);
    builder.set_origin(n.source, n.name);
    return replaced[n.value()] = AttentionBuilder(builder, axes, match, answer).build();
  });
  eliminate_dead_code(graph);
  return true;
}

}  // namespace litz
