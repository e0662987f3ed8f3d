#pragma once
// GraphBuilder makes nodes for the primitives of ops.def: it fills in defaults, infers the results' metadata by the op's rules and
// appends the node to a list of the caller's. Used by decompositions, pattern rewrites and the C++ graph API.
//
//   GraphBuilder b(graph, graph.nodes);
//   Value y = b.call("aten.mul.Tensor", {x, 2.0});
#include <initializer_list>
#include <string_view>
#include <vector>

#include "litz/graph/graph.h"

namespace litz {

class GraphBuilder {
 public:
  /// New nodes are appended to `nodes`; what they use must stand before.
  GraphBuilder(Graph& graph, std::vector<Node*>& nodes) : graph_(graph), nodes_(nodes) {}

  Graph& graph() { return graph_; }
  ExprContext& context() { return *graph_.context; }
  /// Line and name stem that the next nodes carry; a null line for none.
  void set_origin(const SourceLine* source, std::string_view name) {
    source_ = source;
    name_ = name;
  }

  /// Arguments in the schema's order; missing ones take their defaults, None where there is none and None is allowed.
  Node* node(std::string_view primitive, std::vector<Argument> arguments);
  Value call(std::string_view primitive, std::vector<Argument> arguments) { return node(primitive, std::move(arguments))->value(); }
  /// An op outside the table, with metadata from the caller.
  Node* foreign(const OpSchema* op, std::vector<Argument> arguments, std::vector<TensorMeta> outputs);

  /// Integers where the expression is constant, as PyTorch has them.
  static Argument size_argument(Expr e);
  static ArgumentList size_list(std::span<const Expr> sizes);
  static ArgumentList int_list(std::span<const int64_t> values);
  static ArgumentList int_list(std::initializer_list<int64_t> values) { return int_list(std::span(values.begin(), values.size())); }

  // The usual calls, by their short names. An operand is a value or a number.
  Value add(Argument a, Argument b) { return call("aten.add.Tensor", {std::move(a), std::move(b)}); }
  Value sub(Argument a, Argument b) { return call("aten.sub.Tensor", {std::move(a), std::move(b)}); }
  Value mul(Argument a, Argument b) { return call("aten.mul.Tensor", {std::move(a), std::move(b)}); }
  Value div(Argument a, Argument b) { return call("aten.div.Tensor", {std::move(a), std::move(b)}); }
  Value neg(Value a) { return call("aten.neg", {a}); }
  Value where(Value condition, Argument a, Argument b) { return call("aten.where.self", {condition, std::move(a), std::move(b)}); }
  Value eq(Argument a, Argument b) { return call("aten.eq.Tensor", {std::move(a), std::move(b)}); }
  Value ne(Argument a, Argument b) { return call("aten.ne.Tensor", {std::move(a), std::move(b)}); }
  Value lt(Argument a, Argument b) { return call("aten.lt.Tensor", {std::move(a), std::move(b)}); }
  Value le(Argument a, Argument b) { return call("aten.le.Tensor", {std::move(a), std::move(b)}); }
  Value gt(Argument a, Argument b) { return call("aten.gt.Tensor", {std::move(a), std::move(b)}); }
  Value ge(Argument a, Argument b) { return call("aten.ge.Tensor", {std::move(a), std::move(b)}); }
  /// No node where the type is already that.
  Value to(Value a, DType dtype);
  Value reshape(Value a, std::span<const Expr> sizes);
  Value expand(Value a, std::span<const Expr> sizes);
  Value permute(Value a, std::span<const int64_t> dims);
  Value unsqueeze(Value a, int64_t dim) { return call("aten.unsqueeze", {a, dim}); }
  Value slice(Value a, int64_t dim, Expr start, Expr end, int64_t step = 1);
  Value select(Value a, int64_t dim, Argument index) { return call("aten.select.int", {a, dim, std::move(index)}); }
  Value sum(Value a, std::span<const int64_t> dims, bool keepdim);
  Value full(std::span<const Expr> sizes, Argument value, DType dtype, const Device& device);
  /// start, start + step, ...: int64.
  Value iota(Expr length, const Device& device, Argument start = int64_t{0}, Argument step = int64_t{1}, DType dtype = DType::kInt64);

 private:
  Graph& graph_;
  std::vector<Node*>& nodes_;
  const SourceLine* source_ = nullptr;
  std::string name_;
};

}  // namespace litz
