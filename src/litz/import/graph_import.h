#pragma once
// Builds a graph from numbers: expressions, values and schemas are indices that count from 0, so that another language can hold them.
// Every function checks its indices and throws UserError; the finished graph has passed `verify`.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "litz/graph/graph.h"

namespace litz {

class GraphImport {
 public:
  explicit GraphImport(std::string_view name) : graph_(std::make_unique<Graph>(std::string(name))) {}
  /// A graph that is already there (parsed text); only `take` makes sense then.
  explicit GraphImport(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {}

  int32_t integer(int64_t value);
  int32_t symbol(std::string_view name, SymbolKind kind, ValueRange range, std::optional<int64_t> hint);
  int32_t float_symbol(std::string_view name, SymbolKind kind);
  /// definition as in litz_graph_computed.
  int32_t computed(std::string_view name, std::string_view definition, ValueRange range);
  /// op as in litz_graph_expr.
  int32_t expression(std::string_view op, std::span<const int32_t> operands);

  int32_t input(std::string_view name, TensorMeta meta);
  void size_input(std::string_view name, int32_t expr);
  int32_t constant(std::string_view name, TensorMeta meta);
  int32_t schema(std::string_view text);
  /// The value of the first result; results count on from there.
  int32_t call(std::string_view name, int32_t schema, std::vector<Argument> arguments, std::vector<TensorMeta> results,
               std::span<const int32_t> symbols, const SourceLine* source);
  void output(const Argument& output, bool strides_are_promised);

  Expr expr(int64_t index) const;
  Value value(int64_t index) const;
  Graph& graph() { return *graph_; }
  const Graph& graph() const { return *graph_; }
  std::unique_ptr<Graph> take() { return std::move(graph_); }

 private:
  int32_t add(Expr expr);
  int32_t add_values(Node* node);

  std::unique_ptr<Graph> graph_;
  std::vector<Expr> exprs_;
  std::vector<Value> values_;
  std::vector<const OpSchema*> schemas_;
};

}  // namespace litz
