#include "litz/graph_opt/match_attention.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "litz/graph/shape_rules.h"

namespace litz {
namespace {

constexpr int kMostSteps = 64;
/// A fill below this is as good as the least number: no score brings it back.
constexpr double kLeastFill = -1e9;

bool is_call(const Node& n, std::initializer_list<std::string_view> ops) {
  return n.kind == NodeKind::kCall && std::find(ops.begin(), ops.end(), n.op->name) != ops.end();
}

bool is_cast(const Node& n) {
  return is_call(n, {"aten._to_copy", "prims.convert_element_type"}) && n.arguments[0].as<Value>().meta().device == n.outputs[0].device;
}

/// The number as an element of that type; nullopt where rounding it takes more than a few bits' work.
std::optional<double> rounded(double x, DType type) {
  if (type == DType::kFloat64 || std::isinf(x)) return x;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  if (type == DType::kFloat32) return std::bit_cast<float>(bits);
  if (type == DType::kBFloat16) return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
  const bool is_half = !(bits & 0x1fff) && std::abs(x) >= 0x1p-14 && std::abs(x) <= 65504;
  return type == DType::kFloat16 && is_half ? std::optional(x) : std::nullopt;
}

/// A number, or a tensor without dimensions that holds one.
std::optional<double> number_of(const Argument& a) {
  if (a.is<double>()) return a.as<double>();
  if (a.is<int64_t>()) return static_cast<double>(a.as<int64_t>());
  if (!a.is<Value>() || a.as<Value>().meta().rank()) return {};
  const Node& n = *a.as<Value>().node;
  std::optional<double> given;
  if (is_call(n, {"aten.full"})) given = number_of(n.argument("fill_value"));
  else if (is_call(n, {"aten.scalar_tensor"})) given = number_of(n.argument("s"));
  else if (is_call(n, {"aten._to_copy", "aten.clone"})) given = number_of(n.arguments[0]);
  return given ? rounded(*given, n.outputs[0].dtype) : std::nullopt;
}

/// v * number or v / number: the value and the factor.
std::optional<std::pair<Value, double>> multiplied(const Node& n) {
  const bool divides = is_call(n, {"aten.div.Tensor", "aten.div.Scalar"});
  if (!divides && !is_call(n, {"aten.mul.Tensor", "aten.mul.Scalar"})) return {};
  for (size_t side : {0, 1}) {
    if (divides && side == 1) break;
    const auto number = number_of(n.arguments[1 - side]);
    if (!number || !n.arguments[side].is<Value>() || n.arguments[side].as<Value>().meta().sizes != n.outputs[0].sizes) continue;
    return std::pair(n.arguments[side].as<Value>(), divides ? 1 / *number : *number);
  }
  return {};
}

bool is_product(const Node& n) { return is_call(n, {"aten.bmm", "aten.baddbmm"}); }

/// Where a node that writes scores over takes them from: which argument they are, and the replacement.
struct Fill {
  Value scores, mask;
  std::optional<double> number;
  bool where = true;
};

std::optional<Fill> fill_of(const Node& n) {
  if (is_call(n, {"aten.masked_fill.Scalar", "aten.masked_fill.Tensor"}))
    return Fill{n.arguments[0].as<Value>(), n.arguments[1].as<Value>(), number_of(n.arguments[2]), true};
  if (!is_call(n, {"aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf"})) return {};
  for (size_t side : {1, 2}) {
    const Argument& other = n.arguments[3 - side];
    if (!n.arguments[side].is<Value>() || n.arguments[side].as<Value>().meta().sizes != n.outputs[0].sizes || !number_of(other)) continue;
    return Fill{n.arguments[side].as<Value>(), n.arguments[0].as<Value>(), number_of(other), side == 2};
  }
  return {};
}

bool is_wider(DType a, DType b) { return is_floating(a) && is_floating(b) && dtype_bytes(a) > dtype_bytes(b); }

}  // namespace

AttentionMatcher::AttentionMatcher(const Graph& graph, AxisTable& axes) : alias_(graph), axes_(axes) {
  for (Node* n : graph.nodes)
    for (const Argument& a : n->arguments) for_each_value(a, [&](const Value& v) { readers_[v].push_back(n); });
  for (const GraphOutput& o : graph.outputs)
    if (auto* v = std::get_if<Value>(&o.value)) ++returned_[*v];
}

bool AttentionMatcher::is_softmax(const Node& n) { return is_call(n, {"aten._softmax", "aten._safe_softmax"}); }

int AttentionMatcher::readers(Value v) const {
  const auto read = readers_.find(v);
  const auto returned = returned_.find(v);
  return static_cast<int>(read == readers_.end() ? 0 : read->second.size()) + (returned == returned_.end() ? 0 : returned->second);
}

bool AttentionMatcher::comes_from_product(const Value& v, int depth) const {
  const Node& n = *v.node;
  if (depth > kMostSteps || n.kind != NodeKind::kCall) return false;
  if (is_product(n)) return true;
  if (AxisTable::is_view(n) || is_cast(n)) return comes_from_product(n.arguments[0].as<Value>(), depth + 1);
  if (auto m = multiplied(n)) return comes_from_product(m->first, depth + 1);
  if (auto f = fill_of(n)) return comes_from_product(f->scores, depth + 1);
  if (is_call(n, {"aten.add.Tensor"}))
    for (const Argument& a : {n.arguments[0], n.arguments[1]})
      if (a.is<Value>() && comes_from_product(a.as<Value>(), depth + 1)) return true;
  return false;
}

bool AttentionMatcher::is_candidate(const Node& softmax) const { return comes_from_product(softmax.arguments[0].as<Value>()); }

Result<AttentionMatch> AttentionMatcher::match(Node& softmax) {
  const Value scores = softmax.arguments[0].as<Value>();
  const TensorMeta& meta = softmax.outputs[0];
  if (meta.rank() < 3) return unsupported("the softmax has {} dimensions, expected at least 3", meta.rank());
  if (wrap_dim(softmax.argument("dim").as<int64_t>(), meta.rank()) != static_cast<int64_t>(meta.rank()) - 1)
    return unsupported("the softmax is over dimension {} of {}, expected the last one", softmax.argument("dim").as<int64_t>(), meta.rank());
  DimensionAxes axes;
  for (Expr s : meta.sizes) axes.push_back(axes_.add(s));
  if (axes.back().empty()) return unsupported("there is one key");
  AttentionMatch m;
  m.is_safe = softmax.op->name == "aten._safe_softmax";
  m.keys = axes.back();
  if (auto refused = follow_scores(scores, axes, m)) return *refused;
  if (auto refused = follow_probabilities(softmax, axes, m)) return *refused;
  if (auto refused = choose_heads(axes, m)) return *refused;
  const DType type = m.query.value.meta().dtype;
  for (const AttentionOperand* o : {&m.query, &m.key, &m.value}) {
    if (o->value.meta().dtype != type)
      return unsupported("the products are of {} and {}", dtype_name(type), dtype_name(o->value.meta().dtype));
    if (alias_.is_written(o->value)) return unsupported("{} is written in the graph", value_text(o->value));
  }
  for (const ScoreChange& c : m.changes)
    if (alias_.is_written(c.mask)) return unsupported("{} is written in the graph", value_text(c.mask));
  if (!is_floating(type)) return unsupported("the products are of {}", dtype_name(type));
  return m;
}

AttentionMatcher::Refused AttentionMatcher::follow_scores(Value v, DimensionAxes axes, AttentionMatch& m) {
  double factor = 1;
  for (int step = 0; step < kMostSteps; ++step) {
    Node& n = *v.node;
    if (readers(v) != 1) return unsupported("the scores {} have {} readers", value_text(v), readers(v));
    if (is_product(n)) return take_product(n, axes, factor, m);
    if (AxisTable::is_view(n)) {
      auto before = axes_.before(n, axes);
      if (!before) return unsupported("the axes of {} cannot be followed", n.op->name);
      axes = std::move(*before);
      v = n.arguments[0].as<Value>();
    } else if (is_cast(n)) {
      const Value wide = v;
      v = n.arguments[0].as<Value>();
      if (!is_wider(wide.meta().dtype, v.meta().dtype) && wide.meta().dtype != v.meta().dtype)
        return unsupported("the scores are cast from {} to {}", dtype_name(v.meta().dtype), dtype_name(wide.meta().dtype));
    } else if (auto scaled = multiplied(n)) {
      factor *= scaled->second;
      if (!(factor > 0) || !std::isfinite(factor)) return unsupported("the scores are multiplied by {}", factor);
      v = scaled->first;
    } else if (auto fill = fill_of(n)) {
      if (!fill->number) return unsupported("{} fills with a tensor", n.op->name);
      const double number = *fill->number * factor;
      if (!(number <= kLeastFill)) return unsupported("the scores are filled with {}, expected at most {}", number, kLeastFill);
      m.changes.push_back({fill->mask, axes_.resolve(axes), true, fill->where, factor, number});
      v = fill->scores;
      if (v.meta().sizes != n.outputs[0].sizes) return unsupported("{} broadcasts the scores", n.op->name);
    } else if (is_call(n, {"aten.add.Tensor"})) {
      const auto alpha = number_of(n.argument("alpha"));
      const size_t side = n.arguments[0].is<Value>() && comes_from_product(n.arguments[0].as<Value>()) ? 0 : 1;
      if (!alpha || *alpha != 1 || !n.arguments[side].is<Value>() || !n.arguments[1 - side].is<Value>())
        return unsupported("{} adds something else than a mask", n.op->name);
      const Value mask = n.arguments[1 - side].as<Value>();
      if (!is_floating(mask.meta().dtype)) return unsupported("a mask of {} is added", dtype_name(mask.meta().dtype));
      m.changes.push_back({mask, axes_.resolve(axes), false, true, factor, 0});
      v = n.arguments[side].as<Value>();
      if (v.meta().sizes != n.outputs[0].sizes) return unsupported("{} broadcasts the scores", n.op->name);
    } else {
      return unsupported("{} stands between the product and the softmax", n.kind == NodeKind::kCall ? n.op->name : n.name);
    }
  }
  return unsupported("more than {} steps from the softmax to the product", kMostSteps);
}

AttentionMatcher::Refused AttentionMatcher::take_product(const Node& n, const DimensionAxes& given, double factor, AttentionMatch& m) {
  const bool has_bias = n.op->name == "aten.baddbmm";
  DimensionAxes axes = axes_.resolve(given);
  if (has_bias) {
    const auto alpha = number_of(n.argument("alpha")), beta = number_of(n.argument("beta"));
    if (!alpha || !beta || !(*alpha > 0)) return unsupported("aten.baddbmm with factors that are not positive numbers");
    const Value bias = n.arguments[0].as<Value>();
    if (*beta != 0) m.changes.push_back({bias, axes, false, true, factor * *beta, 0});
    factor *= *alpha;
  }
  m.scale = factor;
  const AxisList keys = axes_.resolve(m.keys);
  const bool is_swapped = axes[1] == keys;
  if (!is_swapped && axes[2] != keys) return unsupported("the softmax is not over one side of the product");
  m.queries = axes[is_swapped ? 2 : 1];
  m.batch = axes[0];
  const Value left = n.arguments[has_bias].as<Value>(), right = n.arguments[has_bias + 1].as<Value>();
  m.width = axes_.add(left.meta().sizes[2]);
  if (m.width.empty()) return unsupported("the product is over one column");
  auto first = operand(left, {axes[0], axes[1], m.width}, m, &m.scale);
  if (!first) return Unsupported{first.reason()};
  auto second = operand(right, {axes[0], m.width, axes[2]}, m, &m.scale);
  if (!second) return Unsupported{second.reason()};
  m.query = is_swapped ? *second : *first;
  m.key = is_swapped ? *first : *second;
  if (!(m.scale > 0) || !std::isfinite(m.scale)) return unsupported("the scores are multiplied by {}", m.scale);
  return {};
}

Result<AttentionOperand> AttentionMatcher::operand(Value v, DimensionAxes axes, AttentionMatch& m, double* scale) {
  for (int step = 0; step < kMostSteps; ++step) {
    const Node& n = *v.node;
    if (AxisTable::is_view(n)) {
      auto before = axes_.before(n, axes);
      if (!before) break;
      axes = std::move(*before);
    } else if (auto scaled = scale ? multiplied(n) : std::nullopt; scaled && scaled->first.meta().dtype == v.meta().dtype) {
      *scale *= scaled->second;
      v = scaled->first;
      continue;
    } else if (m.is_safe && is_cast(n) && v.meta().dtype == DType::kFloat32 &&
               is_wider(DType::kFloat32, n.arguments[0].as<Value>().meta().dtype)) {
      m.is_widened = true;
    } else {
      break;
    }
    v = n.arguments[0].as<Value>();
  }
  return AttentionOperand{v, axes_.resolve(axes)};
}

AttentionMatcher::Refused AttentionMatcher::follow_probabilities(Node& softmax, const DimensionAxes& softmax_axes, AttentionMatch& m) {
  Value v = softmax.value();
  DimensionAxes axes = softmax_axes;
  for (int step = 0; step < kMostSteps; ++step) {
    if (readers(v) != 1 || readers_[v].size() != 1) return unsupported("the probabilities {} have {} readers", value_text(v), readers(v));
    Node& n = *readers_[v][0];
    if (n.op_name() == "aten.bmm") {
      axes = axes_.resolve(axes);
      if (!(n.arguments[0].is<Value>() && n.arguments[0].as<Value>() == v) || axes[2] != axes_.resolve(m.keys))
        return unsupported("the product with the values is not over the keys");
      if (axes[1] != axes_.resolve(m.queries)) return unsupported("the product with the values has other rows than the one with the keys");
      m.product = &n;
      m.value_width = axes_.add(n.outputs[0].sizes[2]);
      auto value = operand(n.arguments[1].as<Value>(), {axes[0], axes[2], m.value_width}, m, nullptr);
      if (!value) return Unsupported{value.reason()};
      m.value = *value;
      m.output = {axes[0], axes[1], m.value_width};
      break;
    }
    if (AxisTable::is_view(n)) {
      auto after = axes_.after(n, axes);
      if (!after) return unsupported("the axes of {} cannot be followed", n.op->name);
      axes = std::move(*after);
    } else if (!is_cast(n) || !(is_wider(v.meta().dtype, n.outputs[0].dtype) || v.meta().dtype == n.outputs[0].dtype)) {
      return unsupported("{} stands between the softmax and the product with the values", n.op->name);
    }
    v = n.value();
  }
  if (!m.product) return unsupported("more than {} steps from the softmax to the product with the values", kMostSteps);
  if (!m.is_widened) return {};
  // What was computed in float32 must be made narrow again.
  for (v = m.product->value(); readers(v) == 1 && readers_[v].size() == 1; v = readers_[v][0]->value()) {
    const Node& n = *readers_[v][0];
    if (is_cast(n) && n.outputs[0].dtype == m.value.value.meta().dtype) return {};
    if (!AxisTable::is_view(n)) break;
  }
  return unsupported("the products are in float32 and so is the result");
}

AttentionMatcher::Refused AttentionMatcher::choose_heads(const DimensionAxes& softmax_axes, AttentionMatch& m) {
  for (AxisList* list : {&m.queries, &m.keys, &m.width, &m.value_width, &m.batch}) *list = axes_.resolve(*list);
  for (DimensionAxes* dims : {&m.query.axes, &m.key.axes, &m.value.axes, &m.output}) *dims = axes_.resolve(*dims);
  for (ScoreChange& c : m.changes) c.axes = axes_.resolve(c.axes);
  // Heads are the innermost dimension of the batch, as the softmax has it.
  if (softmax_axes.size() > 3) m.heads = axes_.resolve(softmax_axes[softmax_axes.size() - 3]);
  else if (m.batch.size() > 1) m.heads = {m.batch.back()};
  AxisList batch;
  for (int a : m.batch)
    if (std::find(m.heads.begin(), m.heads.end(), a) == m.heads.end()) batch.push_back(a);
  if (batch.size() + m.heads.size() != m.batch.size()) return unsupported("the queries are part of the batch");
  m.batch = batch;
  return {};
}

}  // namespace litz
