#pragma once
// Expressions and symbols inside the lines of a level's text.
#include <functional>
#include <string>
#include <string_view>

#include "litz/support/text_cursor.h"
#include "litz/symbolic/expr.h"

namespace litz {

/// The symbol of a name, or null.
using SymbolLookup = std::function<Expr(std::string_view)>;
/// Reads as far as the expression goes and leaves the cursor behind it. Without `lookup` the context knows the symbols.
Expr parse_expr(ExprContext& context, TextCursor& cursor, const SymbolLookup& lookup = {});
/// "[s0, 768]"
std::string list_text(std::span<const Expr> exprs);
std::vector<Expr> parse_expr_list(ExprContext& context, TextCursor& cursor, const SymbolLookup& lookup = {});

/// A size or unbacked symbol: "s0 size in [2, inf] hint 32", or a computed one: "d0 size in [1, inf] = trunc(float_mul(to_float(s0), 1.5))".
std::string symbol_declaration(Expr symbol);
/// Makes the symbol; its name must be new.
Expr parse_symbol_declaration(ExprContext& context, TextCursor& cursor);
/// Adds the size and unbacked symbols of the expression that are not in the list yet; a computed one behind those of its definition.
void collect_size_symbols(Expr expr, std::vector<Expr>& into);

}  // namespace litz
