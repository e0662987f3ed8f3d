#include <charconv>
#include <unordered_map>

#include "litz/graph/argument.h"
#include "litz/graph/graph.h"
#include "litz/support/check.h"
#include "litz/symbolic/computed.h"

namespace litz {
namespace {

/// Position of the comment's '#', outside quotes; npos without one.
size_t find_comment(std::string_view line) {
  bool in_quotes = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (in_quotes && line[i] == '\\') ++i;
    else if (line[i] == '"') in_quotes = !in_quotes;
    else if (line[i] == '#' && !in_quotes) return i;
  }
  return std::string_view::npos;
}

class GraphParser {
 public:
  std::unique_ptr<Graph> parse(std::string_view text) {
    int number = 0;
    while (!text.empty() && !done_) {
      const size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++number;
      look_at(line);
      try {
        parse_line(line);
      } catch (const UserError& e) { user_error("graph text, line {}, column {}: {}", number, at_ - line.data() + 1, e.what()); }
    }
    if (!graph_) user_error("graph text: expected \"graph name\" in the first line");
    if (!done_) user_error("graph text: expected a line \"return ...\" at the end");
    graph_->renumber();
    return std::move(graph_);
  }

 private:
  /// What is read now: an error names its column.
  void look_at(std::string_view text) { at_ = text.data(); }

  bool accept(std::string_view& text, std::string_view token) {
    look_at(text = trimmed(text));
    if (!text.starts_with(token)) return false;
    text.remove_prefix(token.size());
    text = trimmed(text);
    return true;
  }

  /// The text up to the bracket that closes the first one; both are removed.
  std::string_view take_brackets(std::string_view& text, char open, char close) {
    look_at(text = trimmed(text));
    if (text.empty() || text.front() != open) user_error("expected '{}' at \"{}\"", open, text);
    int depth = 0;
    bool in_quotes = false;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (in_quotes && c == '\\') ++i;
      else if (c == '"') in_quotes = !in_quotes;
      else if (!in_quotes && (c == '[' || c == '(')) ++depth;
      else if (!in_quotes && (c == ']' || c == ')') && --depth == 0) {
        if (c != close) user_error("brackets do not match in \"{}\"", text);
        std::string_view inside = text.substr(1, i - 1);
        text = trimmed(text.substr(i + 1));
        return inside;
      }
    }
    user_error("expected '{}' in \"{}\"", close, text);
  }

  std::string_view take_word(std::string_view& text) {
    look_at(text = trimmed(text));
    const size_t end = std::min(text.find_first_of(" ,[]()"), text.size());
    std::string_view word = text.substr(0, end);
    text = trimmed(text.substr(end));
    return word;
  }

  int64_t read_bound(std::string_view text) {
    look_at(text);
    if (text == "inf") return kIntInf;
    if (text == "-inf") return -kIntInf;
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) user_error("expected a number, found \"{}\"", text);
    return value;
  }

  void parse_line(std::string_view line) {
    std::string_view comment;
    if (const size_t at = find_comment(line); at != std::string_view::npos) {
      comment = trimmed(line.substr(at + 1));
      line = line.substr(0, at);
    }
    look_at(line = trimmed(line));
    if (line.empty()) return;
    if (accept(line, "graph ")) {
      if (graph_) user_error("a second graph");
      graph_ = std::make_unique<Graph>(std::string(take_word(line)));
      if (accept(line, "training")) graph_->is_inference = false;
      reader_.context = graph_->context.get();
      reader_.value = [this](std::string_view name) { return find_value(name); };
      expect_end(line);
      return;
    }
    if (!graph_) user_error("expected \"graph name\" first");
    if (accept(line, "schema ")) {
      look_at(line);
      graph_->schema(line);
    } else if (accept(line, "symbol ")) {
      parse_symbol(line);
    } else if (accept(line, "input ")) {
      parse_input(line);
    } else if (accept(line, "constant ")) {
      Node* node = define(NodeKind::kConstant, line);
      node->outputs.push_back(parse_meta(line));
      expect_end(line);
      graph_->nodes.push_back(node);
    } else if (line == "return" || accept(line, "return ")) {
      if (line != "return") parse_return(line);
      done_ = true;
    } else {
      parse_call(line, comment);
    }
  }

  void expect_end(std::string_view text) {
    look_at(text = trimmed(text));
    if (!text.empty()) user_error("expected the end of the line, found \"{}\"", text);
  }

  void parse_symbol(std::string_view line) {
    const std::string_view name = take_word(line);
    const SymbolKind kind = accept(line, "unbacked") ? SymbolKind::kUnbacked : SymbolKind::kSize;
    ValueRange range;
    std::optional<int64_t> hint;
    if (accept(line, "in")) {
      auto bounds = split_top_level(take_brackets(line, '[', ']'));
      if (bounds.size() != 2) user_error("expected a range [lower, upper]");
      range = {read_bound(bounds[0]), read_bound(bounds[1])};
      if (range.lower > range.upper) user_error("symbol {}: no number lies in [{}, {}]", name, bounds[0], bounds[1]);
    }
    const bool is_a_float = accept(line, "float");
    if (accept(line, "hint")) hint = read_bound(take_word(line));
    std::optional<Definition> definition;
    if (accept(line, "=")) {
      look_at(line);
      definition = parse_definition(*graph_->context, line);
      line = {};
    }
    expect_end(line);
    look_at(name);
    if (name.empty()) user_error("expected the symbol's name");
    if (graph_->context->find_symbol(name)) user_error("symbol {} stands twice", name);
    if (definition) computed_symbol(*graph_->context, name, std::move(*definition), range);
    else if (is_a_float) float_symbol(*graph_->context, name, kind);
    else graph_->context->symbol(name, kind, range, hint);
  }

  Node* define(NodeKind kind, std::string_view& line) {
    const std::string_view name = take_word(line);
    if (!accept(line, ":")) user_error("expected ':' after {}", name);
    Node* node = new_node(kind, name);
    name_value(name, node, 0);
    return node;
  }

  Node* new_node(NodeKind kind, std::string_view value_name) {
    look_at(value_name);
    if (!value_name.starts_with('%')) user_error("expected a value name like %x, found \"{}\"", value_name);
    const std::string_view name = value_name.substr(1);
    Node* node = graph_->new_node(kind, name);
    if (node->name != name) user_error("%{} is defined twice, or is no name of letters, digits and '_'", name);
    return node;
  }

  void name_value(std::string_view name, Node* node, int output) {
    look_at(name);
    if (!values_.emplace(std::string(name), Value{node, output}).second) user_error("{} is defined twice", name);
  }

  Value find_value(std::string_view name) {
    look_at(name);
    auto found = values_.find(std::string(name));
    if (found == values_.end()) user_error("{} is not defined before this line", name);
    return found->second;
  }

  void parse_input(std::string_view line) {
    Node* node = define(NodeKind::kInput, line);
    if (accept(line, "size ")) {
      node->symbol = parse_size(line);
    } else {
      node->outputs.push_back(parse_meta(line));
      expect_end(line);
    }
    graph_->inputs.push_back(node);
  }

  std::vector<Expr> parse_exprs(std::string_view text) {
    std::vector<Expr> exprs;
    for (std::string_view part : split_top_level(text)) exprs.push_back(parse_size(part));
    return exprs;
  }

  Expr parse_size(std::string_view text) {
    look_at(text);
    return parse_expr(*graph_->context, text);
  }

  TensorMeta parse_meta(std::string_view& text) {
    TensorMeta meta;
    const std::string_view word = take_word(text);
    if (word == "none") {
      meta.is_none = true;
      return meta;
    }
    auto dtype = parse_dtype(word);
    if (!dtype) user_error("unknown element type \"{}\"", word);
    meta.dtype = *dtype;
    meta.sizes = parse_exprs(take_brackets(text, '[', ']'));
    if (accept(text, "strides")) {
      meta.strides = parse_exprs(take_brackets(text, '[', ']'));
      if (meta.strides.size() != meta.sizes.size()) user_error("{} strides for {} sizes", meta.strides.size(), meta.sizes.size());
    } else {
      meta.strides = contiguous_strides(*graph_->context, meta.sizes);
    }
    if (accept(text, "offset")) meta.storage_offset = parse_size(take_brackets(text, '[', ']'));
    if (accept(text, "on ")) meta.device = reader_.read(take_word(text), ArgType::kDevice).as<Device>();
    return meta;
  }

  void parse_call(std::string_view line, std::string_view comment) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) user_error("expected \"%name = op(...) -> results\"");
    const auto names = split_top_level(line.substr(0, equals));
    line = trimmed(line.substr(equals + 1));
    const std::string_view op_name = take_word(line);
    const OpSchema* op = graph_->find_schema(op_name);
    if (!op) user_error("no schema line for {}", op_name);
    // The arguments are read before the node exists: a node does not use itself.
    std::vector<Argument> arguments = parse_arguments(*op, take_brackets(line, '(', ')'));
    look_at(line);
    if (names.empty()) user_error("expected a value name before '='");
    Node* node = new_node(NodeKind::kCall, names[0]);
    node->op = op;
    node->arguments = std::move(arguments);
    if (!accept(line, "->")) user_error("expected '->' after the arguments");
    if (!accept(line, "()")) {
      do {
        if (accept(line, "int")) node->symbol_outputs.push_back(parse_size(take_brackets(line, '[', ']')));
        else node->outputs.push_back(parse_meta(line));
      } while (accept(line, ","));
    }
    if (accept(line, "built")) node->is_imported = false;
    expect_end(line);
    look_at(names[0]);
    if (std::max<size_t>(node->outputs.size(), 1) != names.size())
      user_error("{} names for {} tensor results", names.size(), node->outputs.size());
    for (size_t i = 0; i < names.size(); ++i) {
      look_at(names[i]);
      if (i > 0 && names[i] != fmt::format("{}.{}", names[0], i)) user_error("expected {}.{}, found {}", names[0], i, names[i]);
      name_value(names[i], node, static_cast<int>(i));
    }
    if (!comment.empty()) node->source = parse_source(comment);
    graph_->nodes.push_back(node);
  }

  std::vector<Argument> parse_arguments(const OpSchema& op, std::string_view text) {
    std::vector<std::optional<Argument>> given(op.arguments.size());
    size_t position = 0;
    for (std::string_view part : split_top_level(text)) {
      look_at(part);
      size_t index = position;
      // name=value: the name of a keyword-only argument.
      const size_t equals = part.find('=');
      const bool is_named = equals != std::string_view::npos && equals > 0 &&
                            part.substr(0, equals).find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
                                std::string_view::npos &&
                            part.substr(equals, 2) != "==";
      if (is_named) {
        const int found = op.argument_index(part.substr(0, equals));
        if (found < 0) user_error("{} has no argument '{}'", op.name, part.substr(0, equals));
        index = static_cast<size_t>(found);
        part = part.substr(equals + 1);
      } else {
        ++position;
      }
      if (index >= given.size() || (!is_named && op.arguments[index].is_kwarg_only)) user_error("too many arguments for {}", op.text);
      look_at(part);
      if (given[index]) user_error("argument '{}' is given twice", op.arguments[index].name);
      given[index] = coerce_argument(op.arguments[index], reader_.read(part, op.arguments[index].type));
    }
    std::vector<Argument> arguments;
    look_at(text);
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i]) given[i] = default_argument(op.arguments[i]);
      if (!given[i]) user_error("argument '{}' of {} is missing", op.arguments[i].name, op.name);
      arguments.push_back(std::move(*given[i]));
    }
    return arguments;
  }

  const SourceLine* parse_source(std::string_view comment) {
    std::string file;
    if (comment.front() == '"') {
      const size_t end = comment.find("\":");
      if (end == std::string_view::npos) return nullptr;
      file = reader_.read(comment.substr(0, end + 1), ArgType::kString).as<std::string>();
      comment.remove_prefix(end + 2);
    } else {
      const size_t colon = comment.find(':');
      if (colon == std::string_view::npos) return nullptr;
      file = std::string(comment.substr(0, colon));
      comment.remove_prefix(colon + 1);
    }
    int line = 0;
    auto [end, error] = std::from_chars(comment.data(), comment.data() + comment.size(), line);
    if (error != std::errc()) return nullptr;  // a remark
    comment.remove_prefix(end - comment.data());
    std::string text;
    if (comment.starts_with(": ")) {
      comment.remove_prefix(2);
      text = comment.size() > 1 && comment.front() == '"' && comment.back() == '"'
                 ? reader_.read(comment, ArgType::kString).as<std::string>()
                 : std::string(comment);
    }
    return graph_->source(std::move(file), line, std::move(text));
  }

  void parse_return(std::string_view line) {
    for (std::string_view part : split_top_level(line)) {
      GraphOutput output;
      look_at(part);
      if (part.ends_with(" free")) {
        output.strides_are_promised = false;
        part.remove_suffix(5);
      }
      const Argument a = reader_.read(part, ArgType::kOther);
      if (a.is<Value>()) output.value = a.as<Value>();
      else if (a.is<Expr>()) output.value = a.as<Expr>();
      else if (a.is<int64_t>()) output.value = a.as<int64_t>();
      else if (a.is<double>()) output.value = a.as<double>();
      else if (a.is<bool>()) output.value = a.as<bool>();
      else if (!a.is<None>()) user_error("a graph cannot return {}", part);
      graph_->outputs.push_back(output);
    }
  }

  std::unique_ptr<Graph> graph_;
  ArgumentReader reader_;
  std::unordered_map<std::string, Value> values_;
  bool done_ = false;
  const char* at_ = nullptr;
};

}  // namespace

std::unique_ptr<Graph> parse_graph(std::string_view text) { return GraphParser().parse(text); }

}  // namespace litz
