#pragma once
// The value of a size for heuristics: computed from the hints of its symbols, never a guard.
#include "litz/symbolic/expr.h"

namespace litz {

/// `fallback` stands for every symbol that has no hint; saturates instead of overflowing.
int64_t size_hint(Expr expr, int64_t fallback);

}  // namespace litz
