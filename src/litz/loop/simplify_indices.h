#pragma once
// Removes from every body what its index expressions and value ranges decide: checks of indices that are proven in range, asserts
// and selects with a known condition, predicates that are always true.
//   v1 = check_index v0 < 10 with v0 in [0, 9]  ->  v0
//   load x [i0] if v2 with v2 = true            ->  load x [i0]
// Holds: the program computes and raises the same.
#include "litz/loop/program.h"

namespace litz {

/// True if anything changed.
bool simplify_indices(LoopProgram& program);
bool simplify_indices(ExprContext& context, Operation& operation);

}  // namespace litz
