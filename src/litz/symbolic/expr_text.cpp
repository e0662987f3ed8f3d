#include "litz/symbolic/expr_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "litz/support/check.h"
#include "litz/symbolic/computed.h"

namespace litz {
namespace {

std::string bound_text(int64_t v) { return v == kIntInf ? "inf" : v == -kIntInf ? "-inf" : fmt::format("{}", v); }

int64_t parse_bound(TextCursor& c) {
  if (c.accept("inf")) return kIntInf;
  if (c.accept("-inf")) return -kIntInf;
  return c.integer();
}

}  // namespace

std::string list_text(std::span<const Expr> exprs) {
  std::string text;
  for (Expr e : exprs) text += (text.empty() ? "" : ", ") + to_string(e);
  return "[" + text + "]";
}

std::vector<Expr> parse_expr_list(ExprContext& context, TextCursor& c, const SymbolLookup& lookup) {
  std::vector<Expr> result;
  c.expect("[");
  while (!c.accept("]")) {
    result.push_back(parse_expr(context, c, lookup));
    if (!c.peek("]")) c.expect(",");
  }
  return result;
}

std::string symbol_declaration(Expr symbol) {
  const ValueRange range = symbol.range();
  const std::string_view kind = symbol.symbol_kind() == SymbolKind::kUnbacked ? "unbacked" : "size";
  const Definition* definition = definition_of(symbol);
  if (is_float(symbol) && !definition) return fmt::format("{} {} float", symbol.symbol_name(), kind);
  const std::string bounds = fmt::format("{} {} in [{}, {}]", symbol.symbol_name(), kind, bound_text(range.lower), bound_text(range.upper));
  if (definition) return fmt::format("{} = {}", bounds, to_text(*definition));
  return symbol.hint() ? fmt::format("{} hint {}", bounds, *symbol.hint()) : bounds;
}

Expr parse_symbol_declaration(ExprContext& context, TextCursor& c) {
  const std::string name = c.word();
  if (context.find_symbol(name)) c.refuse(fmt::format("symbol {} stands twice", name));
  const SymbolKind kind = c.accept("unbacked") ? SymbolKind::kUnbacked : SymbolKind::kSize;
  if (kind == SymbolKind::kSize) c.accept("size");
  if (c.accept("float")) return float_symbol(context, name, kind);
  c.expect("in");
  c.expect("[");
  ValueRange range;
  range.lower = parse_bound(c);
  c.expect(",");
  range.upper = parse_bound(c);
  if (range.lower > range.upper) c.refuse(fmt::format("symbol {}: no number lies in that range", name));
  c.expect("]");
  if (c.accept("=")) {
    const std::string text(c.rest());
    try {
      const Expr made = computed_symbol(context, name, parse_definition(context, text), range);
      c.move_to(c.position() + text.size());
      return made;
    } catch (const UserError& error) { c.refuse(error.what()); }
  }
  std::optional<int64_t> hint;
  if (c.accept("hint")) hint = c.integer();
  return context.symbol(name, kind, range, hint);
}

void collect_size_symbols(Expr expr, std::vector<Expr>& into) {
  if (!expr || expr.is_integer()) return;
  for (Expr s : free_symbols(expr)) {
    if (s.symbol_kind() != SymbolKind::kSize && s.symbol_kind() != SymbolKind::kUnbacked) continue;
    if (std::find(into.begin(), into.end(), s) != into.end()) continue;
    if (const Definition* definition = definition_of(s))
      for (const Definition::Step& step : definition->steps) collect_size_symbols(step.expr, into);
    into.push_back(s);
  }
}

}  // namespace litz
