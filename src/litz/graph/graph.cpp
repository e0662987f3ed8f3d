#include "litz/graph/graph.h"

#include <algorithm>
#include <cctype>

#include "litz/support/check.h"

namespace litz {

const Argument& Node::argument(std::string_view argument_name) const {
  const int i = op ? op->argument_index(argument_name) : -1;
  LITZ_CHECK(i >= 0 && i < static_cast<int>(arguments.size()), "{} has no argument '{}'", op_name(), argument_name);
  return arguments[i];
}

Node* Graph::new_node(NodeKind kind, std::string_view name) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->name = unique_name(name);
  owned_.push_back(std::move(node));
  return owned_.back().get();
}

const OpSchema* Graph::schema(std::string_view text) {
  auto found = schema_by_text_.find(std::string(text));
  if (found != schema_by_text_.end()) return found->second;
  auto parsed = parse_schema(text);
  // Two spellings of one op's schema (blanks, return names) are one schema: the first.
  auto by_name = schema_by_name_.find(parsed->name);
  if (by_name != schema_by_name_.end()) {
    if (by_name->second->arguments.size() != parsed->arguments.size())
      user_error("two schemas for one op: \"{}\" and \"{}\"", by_name->second->text, text);
    schema_by_text_.emplace(std::string(text), by_name->second);
    return by_name->second;
  }
  schemas_.push_back(std::move(parsed));
  const OpSchema* schema = schemas_.back().get();
  schema_by_text_.emplace(schema->text, schema);
  schema_by_name_.emplace(schema->name, schema);
  return schema;
}

const OpSchema* Graph::find_schema(std::string_view op_name) const {
  auto found = schema_by_name_.find(std::string(op_name));
  return found == schema_by_name_.end() ? nullptr : found->second;
}

const SourceLine* Graph::source(std::string file, int line, std::string text) {
  if (!sources_.empty()) {
    const SourceLine& last = *sources_.back();
    if (last.line == line && last.file == file && last.text == text) return &last;
  }
  sources_.push_back(std::make_unique<SourceLine>(SourceLine{std::move(file), line, std::move(text)}));
  return sources_.back().get();
}

std::string Graph::unique_name(std::string_view stem) {
  std::string name;
  for (char c : stem) name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (name.empty()) name = "v";
  if (names_.emplace(name, 0).second) return name;
  // add, add_1, add_2 ... and add_1 again gives add_1_1 only if no shorter name is free.
  std::string base = name;
  const size_t digits = base.find_last_not_of("0123456789");
  if (digits != std::string::npos && digits + 1 < base.size() && base[digits] == '_' && digits > 0) base.resize(digits);
  int& next = names_[base];
  std::string candidate;
  do { candidate = fmt::format("{}_{}", base, ++next); } while (names_.contains(candidate));
  names_.emplace(candidate, 0);
  return candidate;
}

void Graph::renumber() {
  int order = 0;
  for (Node* n : inputs) n->order = order++;
  for (Node* n : nodes) n->order = order++;
}

std::vector<Expr> contiguous_strides(ExprContext& context, std::span<const Expr> sizes) {
  std::vector<Expr> strides(sizes.size());
  Expr running = context.integer(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = running;
    if (sizes[i].is_integer(0)) continue;
    running = running * (sizes[i].range().lower >= 1 ? sizes[i] : max(sizes[i], context.integer(1)));
  }
  return strides;
}

void replace_uses(Graph& graph, const ValueMap& map) {
  if (map.empty()) return;
  auto resolve = [&](Value v) {
    for (auto found = map.find(v); found != map.end(); found = map.find(v)) v = found->second;
    return v;
  };
  for (Node* n : graph.nodes)
    for (Argument& a : n->arguments) for_each_value(a, [&](Value& v) { v = resolve(v); });
  for (GraphOutput& o : graph.outputs)
    if (auto* v = std::get_if<Value>(&o.value)) *v = resolve(*v);
}

bool rewrite_nodes(Graph& graph, std::vector<Node*>& made, const std::function<Value(Node&)>& replace) {
  ValueMap replaced;
  auto follow = [&](Value& v) {
    if (auto found = replaced.find(v); found != replaced.end()) v = found->second;
  };
  const std::vector<Node*> old = std::move(graph.nodes);
  graph.nodes.clear();
  for (Node* n : old) {
    for (Argument& a : n->arguments) for_each_value(a, follow);
    if (Value value = replace(*n)) replaced.emplace(n->value(), value);
    else made.push_back(n);
  }
  graph.nodes = std::move(made);
  for (GraphOutput& o : graph.outputs)
    if (auto* v = std::get_if<Value>(&o.value)) follow(*v);
  graph.renumber();
  return !replaced.empty();
}

}  // namespace litz
