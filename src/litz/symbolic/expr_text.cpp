#include "litz/symbolic/expr_text.h"

#include <fmt/format.h>

#include <algorithm>

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
  return fmt::format("{} {} in [{}, {}]{}", symbol.symbol_name(), symbol.symbol_kind() == SymbolKind::kUnbacked ? "unbacked" : "size",
                     bound_text(range.lower), bound_text(range.upper), symbol.hint() ? fmt::format(" hint {}", *symbol.hint()) : "");
}

Expr parse_symbol_declaration(ExprContext& context, TextCursor& c) {
  const std::string name = c.word();
  if (context.find_symbol(name)) c.refuse(fmt::format("symbol {} stands twice", name));
  const SymbolKind kind = c.accept("unbacked") ? SymbolKind::kUnbacked : SymbolKind::kSize;
  if (kind == SymbolKind::kSize) c.accept("size");
  c.expect("in");
  c.expect("[");
  ValueRange range;
  range.lower = parse_bound(c);
  c.expect(",");
  range.upper = parse_bound(c);
  if (range.lower > range.upper) c.refuse(fmt::format("symbol {}: no number lies in that range", name));
  c.expect("]");
  std::optional<int64_t> hint;
  if (c.accept("hint")) hint = c.integer();
  return context.symbol(name, kind, range, hint);
}

void collect_size_symbols(Expr expr, std::vector<Expr>& into) {
  if (!expr || expr.is_integer()) return;
  for (Expr s : free_symbols(expr)) {
    if (s.symbol_kind() != SymbolKind::kSize && s.symbol_kind() != SymbolKind::kUnbacked) continue;
    if (std::find(into.begin(), into.end(), s) == into.end()) into.push_back(s);
  }
}

}  // namespace litz
