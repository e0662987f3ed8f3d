#pragma once
// Joins kernels of a schedule: which must run before which, and how two become one.
#include <functional>
#include <memory>
#include <vector>

#include "litz/kernel/kernel.h"

namespace litz {

/// Programs of each multiprocessor, at most, in launches whose programs count themselves.
constexpr int64_t kCountedPrograms = 4;

struct JoinRules {
  std::function<bool(size_t)> is_fixed;                              // kernels that stay as they are
  std::function<bool(const Kernel&)> may_be_added;                   // asked first, it is cheap
  std::function<bool(const Kernel& into, const Kernel& added)> fit;  // what the pass asks of the two
  std::function<void(Kernel& into, Kernel& added)> prepare;          // before they become one
};

/// Puts each kernel's statements behind those of the last one that must run before it, where both run on one device, see their memory
/// alike and the rules say so; the earlier kernel takes the tensors and numbers of both. True if any kernel, null from here on, was
/// joined.
bool join_kernels(const Schedule& schedule, std::vector<std::unique_ptr<Kernel>>& kernels, const JoinRules& rules);

}  // namespace litz
