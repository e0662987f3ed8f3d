#pragma once
// reuse_in_place: an output of a kernel takes the memory of an input that nobody needs afterwards, so that a chain of kernels walks
// over one warm buffer instead of asking for fresh pages at each step.
//
//   in %conv, out %relu   ->   inout %conv         relu lives in conv's storage from here on
//
// It may where both lie alike (same type, same number of elements, dense), the memory is ours (the plan's, or a library's fresh result), and the kernel
// reads each element before it writes it: for every load the store has the same offset, in the same iteration of the loops that they
// share, and comes later.
#include <memory>
#include <vector>

#include "litz/kernel/kernel.h"

namespace litz {

/// `kernels`: one per group of the schedule, null for extern calls; parameters that become one are merged. Schedule::storage_of
/// records what shares storage. True if anything was.
bool reuse_in_place(Schedule& schedule, std::vector<std::unique_ptr<Kernel>>& kernels, const Target& target);

}  // namespace litz
