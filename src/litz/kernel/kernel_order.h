#pragma once
// Which storage the groups of a schedule touch, and so which must run before which, while kernels are joined.
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "litz/kernel/kernel.h"

namespace litz {

class KernelOrder {
 public:
  /// `kernels`: one per group, null for extern calls and for what has become part of an earlier kernel.
  KernelOrder(const Schedule& schedule, const std::vector<std::unique_ptr<Kernel>>& kernels);

  /// The last group before this one that must run before it: this one may run right behind that.
  std::optional<size_t> last_before(size_t group) const;
  /// The kernel of `group` has become part of the earlier one of `into`.
  void join(size_t into, size_t group);
  /// Whether a storage is a parameter of one kernel and, in another shape or type, of the other: in one kernel loads and stores of the
  /// two would not be seen to meet.
  bool meet_in_other_shapes(const Kernel& a, const Kernel& b) const;

 private:
  struct Touched {
    std::unordered_set<const Buffer*> read, written;
  };
  Touched touched_by(size_t group, const Kernel* kernel) const;
  static bool must_precede(const Touched& earlier, const Touched& later);

  const Schedule& schedule_;
  std::vector<Touched> touched_;
};

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
