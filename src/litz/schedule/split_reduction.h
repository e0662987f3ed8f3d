#pragma once
// split_reduction: a reduction that gives few values from many elements has too few independent iterations; its range is cut into
// pieces that are reduced apart and then combined.
//
//   op s reduction sum (; r0 < 1000000) -> s { v0 = load x [r0]; yield v0 }
//     =>
//   op s_pieces reduction sum (c < 61; r < 16394) -> s_pieces { p = 16394*c + r < 1000000; v0 = load x [16394*c + r] if p; yield where(p, v0, 0) }
//   op s reduction sum (; c < 61) -> s { v0 = load s_pieces [c]; yield v0 }
//
// The tail is a predicate (none where the pieces divide the range), never padding. Arg-reductions carry the logical index; a variance
// becomes a sum for the mean and a sum of squared differences, both in float64. The number of pieces is fixed when compiling: results do
// not depend on the number of threads. Not split under exact_only: what rounds differently in another order.
#include "litz/schedule/fused_group.h"

namespace litz {

struct SplitOptions {
  int64_t enough_values = 4;         // independent iterations from which no split is needed
  int64_t most_pieces = 64;          // per value
  int64_t enough_pieces = 0;         // of all values together: no more than that many, if given, or two per value
  int64_t piece_elements = 1 << 14;  // least work of a piece; shorter rows than two are left
  int64_t least_elements = 0;        // rows shorter than that are left too
  bool exact_only = false;           // only reductions that give the same bits in any order
};

bool split_reduction(LoopProgram& program, std::vector<Refusal>& refusals, const SplitOptions& options = {});

}  // namespace litz
