#pragma once
// The likely value of a size, for heuristics: computed from the hints of its symbols, never a guard.
#include "litz/symbolic/expr.h"

namespace litz {

/// `fallback`, brought into its range, stands for a symbol that has no hint; a loop variable has its last value. Where the result
/// leaves 64 bits or divides by zero it is the fallback itself.
int64_t size_hint(Expr expr, int64_t fallback);

}  // namespace litz
