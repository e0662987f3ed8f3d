#pragma once
// Computed symbols: numbers that are no integer arithmetic (int(n * 0.3), math.sqrt(n)). Such a number is a symbol of its own with a
// definition, which says how it follows from other symbols by functions of integers and floats (support/number_functions.def). So all
// that reasons about sizes sees an integer symbol with a range, definitions are evaluated as Python would, and no rule for real numbers
// is ever applied to a float. A float that is only handed on (the operand of x / math.sqrt(n)) is a symbol too: its value is the bits of
// the double, and it stands in no arithmetic.
//
// Text: "trunc(float_mul(to_float(s0 + 1), 1.5))"; where a function wants an integer, an expression may stand.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "litz/support/expr_program.h"
#include "litz/symbolic/expr.h"

namespace litz {

/// Steps in the order of evaluation; the last one is the value.
struct Definition {
  struct Step {
    enum Kind : uint8_t { kExpr, kFloat, kFunction } kind;
    Expr expr;          // kExpr: of integers, or a float symbol
    double number = 0;  // kFloat
    NumberFunction function = {};
    uint32_t operands[2] = {0, 0};  // earlier steps; the second repeats the first where the function has one
  };
  std::vector<Step> steps;
  bool is_float() const;
};

/// UserError with what stands where it must not; functions must get what they want (an integer, a float).
Definition parse_definition(ExprContext& context, std::string_view text);
std::string to_text(const Definition& definition);

/// A symbol whose value is the definition's. It is unbacked if it follows from a symbol that is. The range must lie around every value. The
/// same name gives the same symbol, whose definition must be the same.
Expr computed_symbol(ExprContext& context, std::string_view name, Definition definition, ValueRange range);
/// A float that is given with the call, or (unbacked) by an op.
Expr float_symbol(ExprContext& context, std::string_view name, SymbolKind kind);

/// Of a computed symbol; null for every other expression.
const Definition* definition_of(Expr expr);
/// Whether the value is the bits of a double.
bool is_float(Expr expr);

/// Symbols from whose values that of the expression follows: of a computed symbol those of its definition, which is not listed itself.
std::vector<Expr> base_symbols(Expr expr);

}  // namespace litz
