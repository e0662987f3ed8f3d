#include "litz/graph/builder.h"

#include <algorithm>

#include "litz/graph/argument.h"
#include "litz/graph/ops.h"
#include "litz/graph/shape_rules.h"
#include "litz/support/check.h"

namespace litz {

Node* GraphBuilder::node(std::string_view name, std::vector<Argument> arguments) {
  const Primitive* primitive = find_primitive(name);
  LITZ_CHECK(primitive, "{} is no primitive: only ops of graph/ops.def can be built", name);
  const OpSchema* op = graph_.schema(primitive->schema);
  LITZ_CHECK(arguments.size() <= op->arguments.size(), "{} arguments for \"{}\"", arguments.size(), op->text);
  for (size_t i = 0; i < arguments.size(); ++i) arguments[i] = coerce_argument(op->arguments[i], std::move(arguments[i]));
  for (size_t i = arguments.size(); i < op->arguments.size(); ++i) {
    auto value = default_argument(op->arguments[i]);
    LITZ_CHECK(value || op->arguments[i].is_optional, "argument '{}' of {} is missing", op->arguments[i].name, name);
    arguments.push_back(value ? *value : Argument(None{}));
  }
  auto outputs = infer_results(context(), *op, arguments);
  return foreign(op, std::move(arguments), std::move(outputs));
}

Node* GraphBuilder::foreign(const OpSchema* op, std::vector<Argument> arguments, std::vector<TensorMeta> outputs) {
  std::string stem = name_;
  if (stem.empty()) {
    stem = op->name.substr(op->name.find('.') + 1);
    stem = stem.substr(0, stem.find('.'));
  }
  Node* n = graph_.new_node(NodeKind::kCall, stem);
  n->op = op;
  n->arguments = std::move(arguments);
  n->outputs = std::move(outputs);
  n->source = source_;
  n->is_imported = false;
  nodes_.push_back(n);
  return n;
}

Argument GraphBuilder::size_argument(Expr e) {
  if (auto constant = e.as_integer()) return *constant;
  return e;
}

ArgumentList GraphBuilder::size_list(std::span<const Expr> sizes) {
  ArgumentList list;
  for (Expr e : sizes) list.push_back(size_argument(e));
  return list;
}

ArgumentList GraphBuilder::int_list(std::span<const int64_t> values) { return ArgumentList(values.begin(), values.end()); }

Value GraphBuilder::to(Value a, DType dtype) {
  if (a.meta().dtype == dtype) return a;
  return call("prims.convert_element_type", {a, dtype});
}

Value GraphBuilder::reshape(Value a, std::span<const Expr> sizes) {
  if (std::equal(sizes.begin(), sizes.end(), a.meta().sizes.begin(), a.meta().sizes.end())) return a;
  return call("aten.reshape", {a, size_list(sizes)});
}

Value GraphBuilder::expand(Value a, std::span<const Expr> sizes) {
  if (std::equal(sizes.begin(), sizes.end(), a.meta().sizes.begin(), a.meta().sizes.end())) return a;
  return call("aten.expand", {a, size_list(sizes)});
}

Value GraphBuilder::permute(Value a, std::span<const int64_t> dims) { return call("aten.permute", {a, int_list(dims)}); }

Value GraphBuilder::slice(Value a, int64_t dim, Expr start, Expr end, int64_t step) {
  return call("aten.slice.Tensor", {a, dim, size_argument(start), size_argument(end), step});
}

Value GraphBuilder::sum(Value a, std::span<const int64_t> dims, bool keepdim) {
  return call("aten.sum.dim_IntList", {a, int_list(dims), keepdim});
}

Value GraphBuilder::full(std::span<const Expr> sizes, Argument value, DType dtype, const Device& device) {
  return call("aten.full", {size_list(sizes), std::move(value), dtype, None{}, device});
}

Value GraphBuilder::iota(Expr length, const Device& device, Argument start, Argument step, DType dtype) {
  return call("prims.iota", {size_argument(length), std::move(start), std::move(step), dtype, device, false});
}

}  // namespace litz
