#pragma once
// make_cooperative_kernels: a kernel that waits for what the last program of an earlier one made, as the softmax of few long rows waits for
// their maxima and sums, becomes a phase of that one: a launch whose programs wait for each other.
//
//   kernel max(x: in, m: out) { parallel i { ... }  vector r whole { ... }  store m }     kernel exp(x: in, m: in, y: out) { parallel k { ... } }
//     =>
//   kernel max(x: in, m: inout, y: out) { parallel i { ... }  parallel once in 0..1 { vector r whole { ... }  store m }  parallel k { ... } }
//
// It may where no kernel or call between the two writes what the later one touches or touches what it writes. It is worth it where the
// phases are so short that launches count; their programs are few, each takes several tiles of each phase.
#include <functional>
#include <memory>
#include <vector>

#include "litz/kernel/kernel.h"

namespace litz {

/// As append_small_kernels, behind which it runs.
bool make_cooperative_kernels(const Schedule& schedule, std::vector<std::unique_ptr<Kernel>>& kernels, const TargetFacts& facts,
                              const std::function<bool(size_t)>& is_fixed);

}  // namespace litz
