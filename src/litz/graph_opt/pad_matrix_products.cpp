#include "litz/graph_opt/pad_matrix_products.h"

#include <unordered_set>

#include "litz/graph/builder.h"

namespace litz {
namespace {

constexpr int64_t kWorthOperations = int64_t{1} << 33;  // multiplications and additions from which a copy of the weight pays
constexpr int64_t kRowsPerCopy = 256;                   // rows of the other factor: the copy is read that often

struct Product {
  Value bias, left, right;  // bias is null for mm
  int64_t rows = 0, inner = 0, columns = 0;
};

std::optional<int64_t> constant(Expr e) { return e.as_integer(); }

bool is_narrow_float(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }

std::optional<Product> product_of(const Node& n) {
  if (n.kind != NodeKind::kCall || (n.op->name != "aten.mm" && n.op->name != "aten.addmm")) return {};
  const bool has_bias = n.op->name == "aten.addmm";
  Product p;
  if (has_bias) p.bias = n.arguments[0].as<Value>();
  p.left = n.arguments[has_bias].as<Value>();
  p.right = n.arguments[has_bias + 1].as<Value>();
  const auto rows = constant(p.left.meta().sizes[0]), inner = constant(p.left.meta().sizes[1]), columns = constant(p.right.meta().sizes[1]);
  if (!rows || !inner || !columns || !is_narrow_float(n.outputs[0].dtype)) return {};
  p.rows = *rows, p.inner = *inner, p.columns = *columns;
  if (has_bias && (p.bias.meta().rank() != 1 || !p.bias.meta().sizes[0].is_integer(p.columns))) return {};
  return p;
}

class Padder {
 public:
  Padder(Graph& graph, int64_t row_bytes) : graph_(graph), row_bytes_(row_bytes) {}

  bool run() {
    std::vector<Node*> nodes;
    GraphBuilder builder(graph_, nodes);
    const bool changed = rewrite_nodes(graph_, nodes, [&](Node& n) {
      const auto p = product_of(n);
      if (!p || !pays(*p, n.outputs[0].dtype)) {
        follow_view(n);
        return Value{};
      }
      builder.set_origin(n.source, n.name);
      const Value y = padded(builder, n, *p);
      padded_.insert(y);
      return y;
    });
    for (GraphOutput& o : graph_.outputs)
      if (auto* v = std::get_if<Value>(&o.value); v && graph_.is_inference && padded_.contains(*v)) o.strides_are_promised = false;
    return changed;
  }

 private:
  int64_t padded_columns(int64_t columns, DType type) const {
    const int64_t unit = std::max<int64_t>(1, row_bytes_ / dtype_bytes(type));
    return (columns + unit - 1) / unit * unit;
  }

  bool pays(const Product& p, DType type) const {
    return padded_columns(p.columns, type) != p.columns && p.rows >= kRowsPerCopy && 2 * p.rows * p.inner * p.columns >= kWorthOperations;
  }

  Value padded(GraphBuilder& builder, const Node& n, const Product& p) {
    const int64_t columns = padded_columns(p.columns, n.outputs[0].dtype), more = columns - p.columns;
    const TensorMeta& right = p.right.meta();
    const bool is_transposed = right.strides[0].is_integer(1) && !right.strides[1].is_integer(1);
    Value weight = p.right;
    if (is_transposed) weight = builder.permute(weight, kSwapped);
    weight =
        builder.call("aten.constant_pad_nd",
                     {weight, is_transposed ? GraphBuilder::int_list({0, 0, 0, more}) : GraphBuilder::int_list({0, more}), int64_t{0}});
    if (is_transposed) weight = builder.permute(weight, kSwapped);
    std::vector<Argument> arguments = n.arguments;
    if (p.bias) arguments[0] = builder.call("aten.constant_pad_nd", {p.bias, GraphBuilder::int_list({0, more}), int64_t{0}});
    arguments[p.bias ? 2 : 1] = weight;
    TensorMeta wide = n.outputs[0];
    wide.sizes[1] = builder.context().integer(columns);
    wide.strides = contiguous_strides(builder.context(), wide.sizes);
    const Node* product = builder.foreign(n.op, std::move(arguments), {wide});
    return builder.slice(Value{const_cast<Node*>(product), 0}, 1, builder.context().integer(0), builder.context().integer(p.columns));
  }

  /// Views of a padded result that keep its last dimension stay views of it.
  void follow_view(const Node& n) {
    if (n.kind != NodeKind::kCall || (n.op->name != "aten.view" && n.op->name != "aten.reshape" && n.op->name != "aten._unsafe_view"))
      return;
    const auto* source = std::get_if<Value>(&n.arguments[0]);
    if (!source || !padded_.contains(*source) || n.outputs[0].sizes.empty()) return;
    if (n.outputs[0].sizes.back() == source->meta().sizes.back()) padded_.insert(Value{const_cast<Node*>(&n), 0});
  }

  static constexpr int64_t kSwapped[2] = {1, 0};
  Graph& graph_;
  int64_t row_bytes_;
  std::unordered_set<Value, ValueHash> padded_;  // values with rows longer than eager's
};

}  // namespace

bool pad_matrix_products(Graph& graph, int64_t row_bytes) {
  if (row_bytes <= 1) return false;
  return Padder(graph, row_bytes).run();
}

}  // namespace litz
