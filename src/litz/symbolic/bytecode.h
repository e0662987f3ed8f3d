#pragma once
// Expressions as programs for the run time (support/expr_program.h): common parts are computed once, constants not at
// all.
#include <span>

#include "litz/support/expr_program.h"
#include "litz/symbolic/expr.h"

namespace litz {

/// Which entry of the `symbols` array holds a symbol.
struct SymbolSlot {
  Expr symbol;
  uint32_t entry;
};

/// Output k goes to entry targets[k] of `out`, or to entry k when `targets` is empty. A computed symbol without a slot
/// is computed; another one without is a check failure. A branch of a select that is not taken is not computed, so a division in it does not count.
ExprProgram compile_exprs(std::span<const Expr> outputs, std::span<const SymbolSlot> slots, std::span<const uint32_t> targets = {});
/// symbols[k] lies in entry k.
ExprProgram compile_exprs(std::span<const Expr> outputs, std::span<const Expr> symbols);

}  // namespace litz
