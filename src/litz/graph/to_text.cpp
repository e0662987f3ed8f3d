#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "litz/graph/argument.h"
#include "litz/graph/graph.h"
#include "litz/support/check.h"
#include "litz/support/literal_text.h"
#include "litz/symbolic/computed.h"

namespace litz {
namespace {

std::string expr_list(std::span<const Expr> exprs) {
  std::string text = "[";
  for (Expr e : exprs) text += (text.size() > 1 ? ", " : "") + to_string(e);
  return text + "]";
}

std::string bound_text(int64_t bound) {
  if (bound == kIntInf) return "inf";
  if (bound == -kIntInf) return "-inf";
  return fmt::format("{}", bound);
}

class SymbolCollector {
 public:
  void add(Expr e) {
    if (!e) return;
    for (Expr s : free_symbols(e)) {
      symbols_.emplace(s.id(), s);
      if (const Definition* definition = definition_of(s))
        for (const Definition::Step& step : definition->steps) add(step.expr);
    }
  }
  void add(const TensorMeta& meta) {
    if (meta.is_none) return;
    for (Expr e : meta.sizes) add(e);
    for (Expr e : meta.strides) add(e);
    add(meta.storage_offset);
  }
  void add(const Argument& a) {
    if (a.is<Expr>()) add(a.as<Expr>());
    if (a.is<ArgumentList>())
      for (const Argument& element : a.as<ArgumentList>()) add(element);
  }
  void add(const Node& n) {
    add(n.symbol);
    for (const auto& m : n.outputs) add(m);
    for (const auto& a : n.arguments) add(a);
    for (Expr e : n.symbol_outputs) add(e);
  }
  const std::map<uint32_t, Expr>& symbols() const { return symbols_; }

 private:
  std::map<uint32_t, Expr> symbols_;
};

std::string node_results(const Node& n) {
  std::string text;
  const size_t count = n.outputs.size() + n.symbol_outputs.size();
  for (const auto& m : n.outputs) text += (text.empty() ? "" : ", ") + to_text(m);
  for (Expr e : n.symbol_outputs) text += (text.empty() ? "" : ", ") + fmt::format("int [{}]", to_string(e));
  return count == 0 ? "()" : text;
}

std::string node_names(const Node& n) {
  std::string text = "%" + n.name;
  for (size_t i = 1; i < n.outputs.size(); ++i) text += fmt::format(", %{}.{}", n.name, i);
  return text;
}

std::string node_arguments(const Node& n) {
  // Trailing positional defaults go; keyword-only arguments are named.
  const auto& types = n.op->arguments;
  auto is_default = [&](size_t i) {
    try {
      auto d = default_argument(types[i]);
      return d && same_argument(*d, n.arguments[i]);
    } catch (const UserError&) { return false; }  // a default that graph IR cannot say was not left out
  };
  size_t positional = 0;
  while (positional < types.size() && !types[positional].is_kwarg_only) ++positional;
  size_t written = positional;
  while (written > 0 && is_default(written - 1)) --written;
  std::string text;
  for (size_t i = 0; i < n.arguments.size(); ++i) {
    if (i < positional && i >= written) continue;
    if (i >= positional && is_default(i)) continue;
    if (!text.empty()) text += ", ";
    if (i >= positional) text += types[i].name + "=";
    text += argument_text(n.arguments[i]);
  }
  return text;
}

std::string source_text(const SourceLine& s) {
  std::string file = s.file;
  const bool plain = std::all_of(file.begin(), file.end(), [](char c) { return c > ' ' && c != ':' && c != '"'; });
  if (!plain) file = quoted(file);
  std::string text = fmt::format("  # {}:{}", file, s.line);
  if (s.text.empty()) return text;
  std::string line = quoted(s.text);
  // Plain text needs no quotes.
  return text + ": " + (line.size() == s.text.size() + 2 && s.text.front() != ' ' && s.text.back() != ' ' ? s.text : line);
}

}  // namespace

std::string value_text(Value value) {
  if (!value) return "%null";
  return value.output == 0 ? "%" + value.node->name : fmt::format("%{}.{}", value.node->name, value.output);
}

std::string to_text(const TensorMeta& m) {
  if (m.is_none) return "none";
  std::string text = fmt::format("{}{}", dtype_name(m.dtype), expr_list(m.sizes));
  if (!m.sizes.empty() && m.strides != contiguous_strides(m.sizes[0].context(), m.sizes)) text += " strides " + expr_list(m.strides);
  if (m.storage_offset && !m.storage_offset.is_integer(0)) text += fmt::format(" offset [{}]", to_string(m.storage_offset));
  if (!(m.device == Device())) text += " on " + device_text(m.device);
  return text;
}

std::string to_text(const Graph& graph) {
  std::string text = fmt::format("graph {}{}\n", graph.name, graph.is_inference ? "" : " training");
  std::set<const OpSchema*> used;
  for (const Node* n : graph.nodes)
    if (n->op) used.insert(n->op);
  std::vector<const OpSchema*> schemas(used.begin(), used.end());
  std::sort(schemas.begin(), schemas.end(), [](auto* a, auto* b) { return a->name < b->name; });
  for (const OpSchema* s : schemas) text += fmt::format("schema {}\n", s->text);

  SymbolCollector symbols;
  for (const Node* n : graph.inputs) symbols.add(*n);
  for (const Node* n : graph.nodes) symbols.add(*n);
  for (const auto& o : graph.outputs)
    if (auto* e = std::get_if<Expr>(&o.value)) symbols.add(*e);
  for (const auto& [id, s] : symbols.symbols()) {
    const Definition* definition = definition_of(s);
    text += fmt::format("symbol {}{}", s.symbol_name(), s.symbol_kind() == SymbolKind::kUnbacked ? " unbacked" : "");
    if (is_float(s) && !definition) text += " float";
    else text += fmt::format(" in [{}, {}]", bound_text(s.range().lower), bound_text(s.range().upper));
    if (definition) text += fmt::format(" = {}", to_text(*definition));
    else if (auto hint = s.hint()) text += fmt::format(" hint {}", *hint);
    text += "\n";
  }
  for (const Node* n : graph.inputs)
    text += n->symbol ? fmt::format("input %{} : size {}\n", n->name, to_string(n->symbol))
                      : fmt::format("input %{} : {}\n", n->name, to_text(n->outputs.at(0)));
  for (const Node* n : graph.nodes) {
    if (n->kind == NodeKind::kConstant) {
      text += fmt::format("constant %{} : {}\n", n->name, to_text(n->outputs.at(0)));
      continue;
    }
    text += fmt::format("{} = {}({}) -> {}", node_names(*n), n->op->name, node_arguments(*n), node_results(*n));
    if (!n->is_imported) text += " built";
    if (n->source) text += source_text(*n->source);
    text += "\n";
  }
  text += "return";
  bool first = true;
  for (const auto& o : graph.outputs) {
    text += first ? " " : ", ";
    first = false;
    text += std::visit([](const auto& v) { return argument_text(Argument(v)); }, o.value);
    if (std::holds_alternative<Value>(o.value) && !o.strides_are_promised) text += " free";
  }
  return text + "\n";
}

}  // namespace litz
