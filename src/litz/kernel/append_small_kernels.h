#pragma once
// append_small_kernels: a kernel of little work that needs what an earlier one gives, as the combination of a long row's pieces, goes
// behind that one's parallel loops: one launch instead of two, and whichever program comes last does it while the results are near.
//
//   kernel s_pieces(x: in, s_pieces: out)  range 488 { parallel vector i in 0..488 step 1 { ... store s_pieces[i] } }
//   kernel s(s_pieces: in, s: out)  range 1 { vector r in 0..488 step 512 whole { ... } store s[0] }
//     =>
//   kernel s_pieces(x: in, s_pieces: inout, s: out)  range 488 {
//     parallel vector i in 0..488 step 1 { ... store s_pieces[i] }
//     vector r in 0..488 step 512 whole { ... }
//     store s[0]
//   }
//
// It may where the work is known and fits one block, the earlier kernel has few programs (each counts itself), the parallel loops run in any case, and no kernel or call between the two writes
// what the small one touches or touches what it writes.
#include <functional>
#include <memory>
#include <vector>

#include "litz/kernel/kernel.h"

namespace litz {

/// `kernels`: one per group of the schedule, null for extern calls; null too from here on for those that became part of an earlier one.
/// `is_fixed`: kernels that stay as they are. True if any was appended.
bool append_small_kernels(const Schedule& schedule, std::vector<std::unique_ptr<Kernel>>& kernels, const TargetFacts& facts,
                          const std::function<bool(size_t)>& is_fixed);

}  // namespace litz
