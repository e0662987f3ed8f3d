#include "litz/kernel/make_cooperative_kernels.h"

#include <algorithm>

#include "litz/kernel/kernel_order.h"
#include "litz/kernel/tree_passes.h"
#include "litz/symbolic/size_hint.h"

namespace litz {
namespace {

constexpr int64_t kMostElements = 1 << 22;  // of a phase: beyond, a launch is short beside it
constexpr size_t kMostPhases = 16;

/// Likely iterations of the deepest loops, lanes counted.
int64_t elements_of(std::span<const KernelStatement> body) {
  int64_t most = 1;
  for (const KernelStatement& s : body)
    if (s.kind == KernelOp::kLoop) most = std::max(most, size_hint(s.loop->extent, kMostElements) * elements_of(s.loop->body));
  return most;
}

bool is_short(const Kernel& kernel) {
  const auto phases = grid_phases(kernel);
  const bool has_grid = !phases[0].empty() && phases[0].back().kind == KernelOp::kLoop && phases[0].back().loop->is_parallel;
  return has_grid && kernel.scratch.empty() && phases.size() <= kMostPhases && kernel.range.range().lower >= 1 &&
         elements_of(kernel.body) <= kMostElements;
}

/// Whether the kernel reads what the last program of the other one writes.
bool reads_what_is_behind(const Kernel& kernel, const Kernel& other) {
  bool found = false;
  for_each_statement(statements_behind(other), [&](const KernelStatement& s) {
    if (s.kind != KernelOp::kStore) return;
    const Buffer* written = other.parameters[static_cast<size_t>(s.memory.index)].buffer;
    found |= std::ranges::any_of(kernel.parameters, [&](const KernelParameter& p) {
      return p.buffer == written && (p.kind == KernelParameter::kInput || p.kind == KernelParameter::kInOut);
    });
  });
  return found;
}

/// What is done once becomes a phase of one iteration, behind which others may stand.
void enclose_behind(Kernel& kernel) {
  const size_t count = statements_behind(kernel).size();
  ExprContext& context = *kernel.context;
  auto loop = std::make_unique<KernelLoop>();
  loop->axis = context.axis("once", context.integer(1));
  loop->extent = loop->step = context.integer(1);
  loop->is_parallel = true;
  const auto first = kernel.body.end() - static_cast<std::ptrdiff_t>(count);
  std::move(first, kernel.body.end(), std::back_inserter(loop->body));
  kernel.body.erase(first, kernel.body.end());
  kernel.body.emplace_back().kind = KernelOp::kLoop;
  kernel.body.back().loop = std::move(loop);
}

}  // namespace

bool make_cooperative_kernels(const Schedule& schedule, std::vector<std::unique_ptr<Kernel>>& kernels, const TargetFacts& facts,
                              const std::function<bool(size_t)>& is_fixed) {
  JoinRules rules;
  rules.is_fixed = is_fixed;
  rules.may_be_added = is_short;
  rules.fit = [](const Kernel& into, const Kernel& added) { return is_short(into) && reads_what_is_behind(added, into); };
  rules.prepare = [&](Kernel& into, Kernel& added) {
    enclose_behind(into);
    into.range = min(max(into.range, added.range), into.context->integer(kCountedPrograms * facts.multiprocessors));
  };
  return join_kernels(schedule, kernels, rules);
}

}  // namespace litz
