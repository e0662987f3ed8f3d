#include "litz/kernel/append_small_kernels.h"

#include <algorithm>
#include <bit>

#include "litz/kernel/kernel_order.h"
#include "litz/kernel/tree_passes.h"
#include "litz/symbolic/size_hint.h"

namespace litz {
namespace {

constexpr int64_t kMostElements = 4096;  // of the block that the last program works on

int64_t whole_step(int64_t extent) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))); }

/// Elements of the blocks of a program that takes every loop with lanes as a whole, times the iterations of other loops; or none.
std::optional<int64_t> elements_of(std::span<const KernelStatement> body) {
  int64_t most = 1;
  for (const KernelStatement& s : body) {
    if (s.kind != KernelOp::kLoop) continue;
    const auto extent = s.loop->extent.as_integer();
    const auto inside = elements_of(s.loop->body);
    if (!extent || *extent < 1 || *extent > kMostElements || !inside) return std::nullopt;
    most = std::max(most, *inside * (s.loop->has_lanes ? whole_step(*extent) : *extent));
    if (most > kMostElements) return std::nullopt;
  }
  return most;
}

bool is_small(const Kernel& kernel) { return kernel.scratch.empty() && elements_of(kernel.body); }

bool has_grid(const Kernel& kernel) {
  return std::ranges::any_of(kernel.body, [](const KernelStatement& s) { return s.kind == KernelOp::kLoop && s.loop->is_parallel; });
}

/// Each program waits for its own stores before it counts itself. Beside a few rounds of programs that is nothing; a cross entropy over
/// 2^24 elements took twice as long.
bool takes_statements(const Kernel& kernel, int64_t most_programs) {
  return has_grid(kernel) && kernel.scratch.empty() && kernel.range.range().lower >= 1 &&
         size_hint(kernel.range, most_programs) <= most_programs;
}

/// Only what the statements behind wrote is waited for between them: what they read or wrote must not be written again.
bool overwrites_behind(const Kernel& kernel, const Kernel& added) {
  std::vector<bool> is_touched(kernel.parameters.size());
  for_each_statement(statements_behind(kernel), [&](const KernelStatement& s) {
    if (s.kind == KernelOp::kLoad || s.kind == KernelOp::kStore) is_touched[static_cast<size_t>(s.memory.index)] = true;
  });
  return std::ranges::any_of(added.parameters, [&](const KernelParameter& q) {
    if (!q.buffer || q.kind == KernelParameter::kInput) return false;
    for (size_t k = 0; k < kernel.parameters.size(); ++k)
      if (is_touched[k] && kernel.parameters[k].buffer == q.buffer) return true;
    return false;
  });
}

/// What programs of the grid take blocks of, one program takes as a whole.
void take_whole(std::vector<KernelStatement>& body) {
  for (KernelStatement& s : body) {
    if (s.kind != KernelOp::kLoop || !s.loop->is_parallel) continue;
    KernelLoop& loop = *s.loop;
    loop.is_parallel = false;
    if (loop.has_lanes) {
      loop.step = loop.extent.context().integer(whole_step(loop.extent.integer()));
      loop.lane = loop.extent.context().axis("lane", loop.step);
      loop.is_whole = true;
    }
    take_whole(loop.body);
  }
}

}  // namespace

bool append_small_kernels(const Schedule& schedule, std::vector<std::unique_ptr<Kernel>>& kernels, const TargetFacts& facts,
                          const std::function<bool(size_t)>& is_fixed) {
  JoinRules rules;
  rules.is_fixed = is_fixed;
  rules.may_be_added = is_small;
  rules.fit = [&](const Kernel& into, const Kernel& added) {
    return takes_statements(into, kCountedPrograms * facts.multiprocessors) && !overwrites_behind(into, added);
  };
  rules.prepare = [](Kernel&, Kernel& added) { take_whole(added.body); };
  return join_kernels(schedule, kernels, rules);
}

}  // namespace litz
