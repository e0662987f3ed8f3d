#include "litz/symbolic/computed.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "litz/support/literal_text.h"
#include "litz/symbolic/expr_context.h"

namespace litz {
namespace {

using Step = Definition::Step;

bool is_float_step(const Step& step) {
  switch (step.kind) {
    case Step::kFloat: return true;
    case Step::kExpr: return is_float(step.expr);
    case Step::kFunction: return info(step.function).result == 'f';
  }
  return false;
}

/// A number with a point or an exponent, inf or nan, as float_text writes it.
std::optional<double> read_float(std::string_view text) {
  const bool looks_like_one = text.find_first_of(".en") != std::string_view::npos;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!looks_like_one || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class DefinitionReader {
 public:
  explicit DefinitionReader(ExprContext& context) : context_(context) {}
  Definition made;

  uint32_t read(std::string_view text, int depth = 0) {
    text = trimmed(text);
    if (text.empty()) user_error("definition: expected a number, found nothing");
    if (depth > 200) user_error("definition: expected a number that is nested less deeply");
    const size_t open = text.find('(');
    if (open != std::string_view::npos)
      if (const std::optional<NumberFunction> function = find_number_function(text.substr(0, open)))
        return read_call(*function, text, open, depth);
    if (const std::optional<double> value = read_float(text)) return add({Step::kFloat, {}, *value});
    return add({Step::kExpr, parse_expr(context_, text)});
  }

 private:
  uint32_t add(Step step) {
    made.steps.push_back(step);
    return static_cast<uint32_t>(made.steps.size()) - 1;
  }

  uint32_t read_call(NumberFunction function, std::string_view text, size_t open, int depth) {
    const NumberFunctionInfo& known = info(function);
    std::vector<uint32_t> operands;
    size_t begin = open + 1, at = begin;
    for (int level = 1; at < text.size(); ++at) {
      level += (text[at] == '(') - (text[at] == ')');
      const bool ends = level == 0;
      if (!ends && (text[at] != ',' || level != 1)) continue;
      operands.push_back(read(text.substr(begin, at - begin), depth + 1));
      begin = at + 1;
      if (ends) break;
    }
    if (at + 1 != text.size()) user_error("definition: expected '{}(...)' to end with ')', found \"{}\"", known.name, text);
    if (operands.size() != known.operands.size())
      user_error("definition: {} takes {} operands, found {}", known.name, known.operands.size(), operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      if (is_float_step(made.steps[operands[i]]) != (known.operands[i] == 'f'))
        user_error("definition: {} wants {} as operand {}, found \"{}\"", known.name, known.operands[i] == 'f' ? "a float" : "an integer",
                   i + 1, text);
    }
    return add({Step::kFunction, {}, 0, function, {operands.front(), operands.back()}});
  }

  ExprContext& context_;
};

void print_step(const Definition& definition, uint32_t at, std::string& text) {
  const Step& step = definition.steps[at];
  if (step.kind == Step::kExpr) text += to_string(step.expr);
  if (step.kind == Step::kFloat) text += float_text(step.number);
  if (step.kind != Step::kFunction) return;
  const NumberFunctionInfo& known = info(step.function);
  text += known.name;
  text += '(';
  print_step(definition, step.operands[0], text);
  if (known.operands.size() > 1) {
    text += ", ";
    print_step(definition, step.operands[1], text);
  }
  text += ')';
}

/// nullopt where a leaf has no value or a function refuses.
std::optional<int64_t> value_of(const Definition& definition, const std::function<std::optional<int64_t>(Expr)>& leaf) {
  std::vector<int64_t> values;
  for (const Step& step : definition.steps) {
    int64_t value = word_of_float(step.number);
    if (step.kind == Step::kExpr) {
      const std::optional<int64_t> given = leaf(step.expr);
      if (!given) return std::nullopt;
      value = *given;
    } else if (step.kind == Step::kFunction && !apply(step.function, values[step.operands[0]], values[step.operands[1]], &value)) {
      return std::nullopt;
    }
    values.push_back(value);
  }
  return values.back();
}

}  // namespace

bool Definition::is_float() const { return is_float_step(steps.back()); }

Definition parse_definition(ExprContext& context, std::string_view text) {
  DefinitionReader reader(context);
  reader.read(text);
  return std::move(reader.made);
}

std::string to_text(const Definition& definition) {
  std::string text;
  print_step(definition, static_cast<uint32_t>(definition.steps.size()) - 1, text);
  return text;
}

std::optional<int64_t> evaluate_definition(const Definition& definition, const std::function<std::optional<int64_t>(Expr)>& symbol) {
  return value_of(definition, [&](Expr leaf) { return evaluate(leaf, symbol); });
}

Expr computed_symbol(ExprContext& context, std::string_view name, Definition definition, ValueRange range) {
  if (Expr known = context.find_symbol(name)) {
    const Definition* other = definition_of(known);
    LITZ_CHECK(other && to_text(*other) == to_text(definition), "symbol {} was made with another definition", name);
    return known;
  }
  uint64_t mask = 0;
  SymbolKind kind = SymbolKind::kSize;
  for (const Step& step : definition.steps) {
    if (step.kind != Step::kExpr) continue;
    mask |= step.expr.node()->symbol_mask;
    for (Expr s : free_symbols(step.expr)) {
      LITZ_CHECK(!s.extent(), "computed symbol {} depends on the loop variable {}", name, s.symbol_name());
      if (s.symbol_kind() == SymbolKind::kUnbacked) kind = SymbolKind::kUnbacked;
    }
  }
  const std::optional<int64_t> hint = evaluate_definition(definition, [](Expr symbol) { return symbol.hint(); });
  ExprContext::Impl& impl = context.impl();
  const Expr made = impl.new_symbol(name, kind, range, Expr(), hint);
  auto* node = const_cast<ExprNode*>(made.node());  // of this context's arena, and nobody has seen it yet
  node->symbol_mask |= mask;
  // At the sampled points the symbol has the definition's value: what refutes must be a point that can occur.
  for (int k = 0; k < ExprNode::kSamples; ++k) {
    const std::optional<int64_t> value = value_of(definition, [k](Expr leaf) -> std::optional<int64_t> {
      if (!(leaf.node()->valid_samples >> k & 1)) return std::nullopt;
      return leaf.node()->samples[k];
    });
    const bool is_valid = value && range.lower <= *value && *value <= range.upper;
    node->samples[k] = is_valid ? *value : 0;
    node->valid_samples &= is_valid ? 0xff : ~(1 << k);
  }
  const bool is_float = definition.is_float();
  impl.computed.emplace(made.node(), ComputedSymbol{is_float, std::make_unique<Definition>(std::move(definition))});
  return made;
}

Expr float_symbol(ExprContext& context, std::string_view name, SymbolKind kind) {
  if (Expr known = context.find_symbol(name)) {
    LITZ_CHECK(known.symbol_kind() == kind && is_float(known) && !definition_of(known), "symbol {} was made as another kind", name);
    return known;
  }
  const Expr made = context.impl().new_symbol(name, kind, {}, Expr(), std::nullopt);
  context.impl().computed.emplace(made.node(), ComputedSymbol{true, nullptr});
  return made;
}

const Definition* definition_of(Expr expr) {
  const auto& computed = impl_of(expr).computed;
  if (computed.empty() || !expr.is_symbol()) return nullptr;
  const auto found = computed.find(expr.node());
  return found == computed.end() ? nullptr : found->second.definition.get();
}

bool is_float(Expr expr) {
  const auto& computed = impl_of(expr).computed;
  const auto found = computed.empty() ? computed.end() : computed.find(expr.node());
  return found != computed.end() && found->second.is_float;
}

std::vector<Expr> base_symbols(Expr expr) {
  std::vector<Expr> symbols;
  for (Expr s : free_symbols(expr)) {
    const Definition* definition = definition_of(s);
    if (!definition) symbols.push_back(s);
    for (size_t k = 0; definition && k < definition->steps.size(); ++k)
      if (definition->steps[k].kind == Step::kExpr)
        for (Expr base : base_symbols(definition->steps[k].expr)) symbols.push_back(base);
  }
  std::ranges::sort(symbols, {}, &Expr::id);
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

}  // namespace litz
