#pragma once
// What an argument of an extern call may be besides a tensor or a list, as loop and wrapper IR write it.
#include <functional>
#include <string>
#include <variant>

#include "litz/loop/program.h"
#include "litz/symbolic/expr_text.h"

namespace litz {

using ScalarArgument = std::variant<None, bool, int64_t, double, std::complex<double>, Expr, std::string, DType, Device, MemoryFormat>;

/// none, true, 3, 1.5, complex(1.0, 0.0), (s0 + 1), "text", dtype f32, device cpu 0, format contiguous
std::string scalar_text(const ScalarArgument& argument, const std::function<std::string(Expr)>& expr_text);
ScalarArgument parse_scalar(ExprContext& context, TextCursor& cursor, const SymbolLookup& lookup = {});

/// "random effect "aten::op(...) -> ..."" of a schema that the program calls.
std::string schema_text(const OpSchema& schema);
std::unique_ptr<OpSchema> parse_schema_text(TextCursor& cursor);

}  // namespace litz
