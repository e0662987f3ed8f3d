#include "litz/import/graph_import.h"

#include <algorithm>
#include <utility>

#include "litz/graph/argument.h"
#include "litz/support/check.h"
#include "litz/symbolic/computed.h"

namespace litz {

int32_t GraphImport::add(Expr expr) {
  exprs_.push_back(expr);
  return static_cast<int32_t>(exprs_.size() - 1);
}

int32_t GraphImport::add_values(Node* node) {
  const auto first = static_cast<int32_t>(values_.size());
  for (size_t i = 0; i < node->outputs.size(); i++) values_.push_back(node->value(static_cast<int>(i)));
  return first;
}

Expr GraphImport::expr(int64_t index) const {
  if (index < 0 || index >= static_cast<int64_t>(exprs_.size())) user_error("expression {} of {}", index, exprs_.size());
  return exprs_[static_cast<size_t>(index)];
}

Value GraphImport::value(int64_t index) const {
  if (index < 0 || index >= static_cast<int64_t>(values_.size())) user_error("value {} of {}", index, values_.size());
  return values_[static_cast<size_t>(index)];
}

int32_t GraphImport::integer(int64_t value) { return add(graph_->context->integer(value)); }

int32_t GraphImport::symbol(std::string_view name, SymbolKind kind, ValueRange range, std::optional<int64_t> hint) {
  return add(graph_->context->symbol(name, kind, range, hint));
}

int32_t GraphImport::float_symbol(std::string_view name, SymbolKind kind) { return add(litz::float_symbol(*graph_->context, name, kind)); }

int32_t GraphImport::computed(std::string_view name, std::string_view definition, ValueRange range) {
  return add(computed_symbol(*graph_->context, name, parse_definition(*graph_->context, definition), range));
}

namespace {

using Fold = Expr (*)(Expr, Expr);
struct Operator {
  std::string_view name;
  Fold fold;      // applied from the left
  bool is_n_ary;  // else exactly two operands
};
constexpr Operator kOperators[] = {
    {"+", [](Expr a, Expr b) { return a + b; }, true},
    {"*", [](Expr a, Expr b) { return a * b; }, true},
    {"min", [](Expr a, Expr b) { return min(a, b); }, true},
    {"max", [](Expr a, Expr b) { return max(a, b); }, true},
    {"and", [](Expr a, Expr b) { return logical_and(a, b); }, true},
    {"or", [](Expr a, Expr b) { return logical_or(a, b); }, true},
    {"//", [](Expr a, Expr b) { return floor_div(a, b); }, false},
    {"%", [](Expr a, Expr b) { return mod(a, b); }, false},
    {"==", [](Expr a, Expr b) { return eq(a, b); }, false},
    {"!=", [](Expr a, Expr b) { return ne(a, b); }, false},
    {"<", [](Expr a, Expr b) { return lt(a, b); }, false},
    {"<=", [](Expr a, Expr b) { return le(a, b); }, false},
};

}  // namespace

int32_t GraphImport::expression(std::string_view op, std::span<const int32_t> operands) {
  std::vector<Expr> on;
  for (int32_t i : operands) on.push_back(expr(i));
  if (op == "not" && on.size() == 1) return add(logical_not(on[0]));
  if (op == "select" && on.size() == 3) return add(select(on[0], on[1], on[2]));
  for (const Operator& known : kOperators) {
    if (known.name != op) continue;
    if (on.empty() || (!known.is_n_ary && on.size() != 2)) user_error("operator {}: {} operands", op, on.size());
    Expr result = on[0];
    for (size_t i = 1; i < on.size(); i++) result = known.fold(result, on[i]);
    return add(result);
  }
  user_error("expressions have no operator '{}' with {} operands", op, on.size());
}

int32_t GraphImport::input(std::string_view name, TensorMeta meta) {
  Node* node = graph_->new_node(NodeKind::kInput, name);
  node->outputs.push_back(std::move(meta));
  graph_->inputs.push_back(node);
  return add_values(node);
}

void GraphImport::size_input(std::string_view name, int32_t index) {
  Node* node = graph_->new_node(NodeKind::kInput, name);
  node->symbol = expr(index);
  graph_->inputs.push_back(node);
}

int32_t GraphImport::constant(std::string_view name, TensorMeta meta) {
  Node* node = graph_->new_node(NodeKind::kConstant, name);
  node->outputs.push_back(std::move(meta));
  graph_->nodes.push_back(node);
  return add_values(node);
}

int32_t GraphImport::schema(std::string_view text) {
  schemas_.push_back(graph_->schema(text));
  return static_cast<int32_t>(schemas_.size() - 1);
}

namespace {

/// PyTorch's ops that give a new tensor, by their schema; a few alias their argument and do not say so.
bool makes_memory_of_its_own(const OpSchema& op) {
  static constexpr std::string_view kSilentViews[] = {"aten._unsafe_view", "aten._reshape_alias", "aten.lift", "aten.empty_strided",
                                                      "aten.new_empty_strided"};
  return !op.is_view && !op.is_mutating && op.name.starts_with("aten.") &&
         std::ranges::find(kSilentViews, op.name) == std::end(kSilentViews);
}

/// Some of PyTorch's rules copy the strides of an expanded argument; no tensor that an op writes has elements that share memory.
void lay_out_apart(ExprContext& context, TensorMeta& meta) {
  bool overlaps = false;
  for (size_t d = 0; d < meta.sizes.size() && d < meta.strides.size(); ++d)
    overlaps |= meta.strides[d].is_integer(0) && meta.sizes[d].is_integer() && meta.sizes[d].integer() > 1;
  if (overlaps) meta.strides = contiguous_strides(context, meta.sizes);
}

}  // namespace

int32_t GraphImport::call(std::string_view name, int32_t schema, std::vector<Argument> arguments, std::vector<TensorMeta> results,
                          std::span<const int32_t> symbols, const SourceLine* source) {
  if (schema < 0 || schema >= static_cast<int32_t>(schemas_.size())) user_error("schema {} of {}", schema, schemas_.size());
  Node* node = graph_->new_node(NodeKind::kCall, name);
  node->op = schemas_[static_cast<size_t>(schema)];
  if (arguments.size() != node->op->arguments.size())
    user_error("{}: {} arguments, its schema has {}", node->op->name, arguments.size(), node->op->arguments.size());
  for (size_t i = 0; i < arguments.size(); i++) node->arguments.push_back(coerce_argument(node->op->arguments[i], std::move(arguments[i])));
  node->outputs = std::move(results);
  if (makes_memory_of_its_own(*node->op))
    for (TensorMeta& meta : node->outputs) lay_out_apart(*graph_->context, meta);
  for (int32_t symbol : symbols) node->symbol_outputs.push_back(expr(symbol));
  node->source = source;
  graph_->nodes.push_back(node);
  return add_values(node);
}

void GraphImport::output(const Argument& output, bool strides_are_promised) {
  GraphOutput made;
  made.strides_are_promised = strides_are_promised;
  if (auto* v = std::get_if<Value>(&output)) made.value = *v;
  else if (auto* e = std::get_if<Expr>(&output)) made.value = *e;
  else if (auto* i = std::get_if<int64_t>(&output)) made.value = *i;
  else if (auto* d = std::get_if<double>(&output)) made.value = *d;
  else if (auto* b = std::get_if<bool>(&output)) made.value = *b;
  else if (!output.is<None>()) user_error("an output is a tensor, a number or none");
  graph_->outputs.push_back(made);
}

}  // namespace litz
