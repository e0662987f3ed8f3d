#include "litz/kernel/kernel_order.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "litz/kernel/tree_passes.h"
#include "litz/loop/dependences.h"
#include "litz/support/check.h"

namespace litz {
namespace {

/// Which storage the groups of a schedule touch, and so which must run before which, while kernels are joined.
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

KernelOrder::KernelOrder(const Schedule& schedule, const std::vector<std::unique_ptr<Kernel>>& kernels) : schedule_(schedule) {
  for (size_t g = 0; g < kernels.size(); ++g) touched_.push_back(touched_by(g, kernels[g].get()));
}

KernelOrder::Touched KernelOrder::touched_by(size_t group, const Kernel* kernel) const {
  Touched out;
  auto add = [&](std::unordered_set<const Buffer*>& set, Buffer* named) {
    for_each_storage(named, [&](const Buffer* b) { set.insert(schedule_.shared_storage(b)); });
  };
  const FusedGroup& g = *schedule_.groups[group];
  if (kernel) {
    for (const KernelParameter& p : kernel->parameters) {
      if (!p.buffer) continue;
      if (p.kind != KernelParameter::kOutput) add(out.read, p.buffer);
      if (p.kind != KernelParameter::kInput) add(out.written, p.buffer);
    }
  } else if (g.kind == GroupKind::kExtern) {
    const Operation& op = *g.members[0].operation;
    for_each_memory_read(op, [&](Buffer* b) {
      add(out.read, b);
      if (op.callee && op.callee->is_mutating) add(out.written, b);
    });
    for (Buffer* b : op.outputs) add(out.written, b);
  }
  return out;
}

bool KernelOrder::must_precede(const Touched& earlier, const Touched& later) {
  auto meet = [](const auto& a, const auto& b) { return std::ranges::any_of(a, [&](const Buffer* x) { return b.contains(x); }); };
  return meet(earlier.written, later.read) || meet(earlier.written, later.written) || meet(earlier.read, later.written);
}

std::optional<size_t> KernelOrder::last_before(size_t group) const {
  for (size_t g = group; g-- > 0;)
    if (must_precede(touched_[g], touched_[group])) return g;
  return std::nullopt;
}

void KernelOrder::join(size_t into, size_t group) {
  touched_[into].read.merge(touched_[group].read);
  touched_[into].written.merge(touched_[group].written);
  touched_[group] = {};
}

bool KernelOrder::meet_in_other_shapes(const Kernel& a, const Kernel& b) const {
  for (const KernelParameter& p : a.parameters)
    for (const KernelParameter& q : b.parameters) {
      if (!p.buffer || !q.buffer || schedule_.shared_storage(p.buffer) != schedule_.shared_storage(q.buffer)) continue;
      if (p.buffer != q.buffer || p.dtype != q.dtype) return true;
    }
  return false;
}

/// Whether two kernels run on the same device.
bool share_device(const Kernel& a, const Kernel& b) {
  auto device = [](const Kernel& kernel) -> const Device* {
    const auto tensor = std::ranges::find_if(kernel.parameters, [](const KernelParameter& p) { return p.buffer; });
    return tensor == kernel.parameters.end() ? nullptr : &tensor->buffer->device;
  };
  return device(a) && device(b) && *device(a) == *device(b);
}

template <typename Entries, typename Projection>
std::string unused(const std::string& name, const Entries& entries, Projection projection) {
  std::string candidate = name;
  for (int k = 1; std::ranges::find(entries, candidate, projection) != entries.end(); ++k) candidate = fmt::format("{}_{}", name, k);
  return candidate;
}

void redirect(std::vector<KernelStatement>& body, const std::vector<int>& places) {
  for (KernelStatement& s : body) {
    if (s.kind == KernelOp::kLoop) redirect(s.loop->body, places);
    if (s.kind == KernelOp::kLoad || s.kind == KernelOp::kStore) s.memory.index = places[static_cast<size_t>(s.memory.index)];
  }
}

/// Tensors of both, then numbers of both.
void join_parameters(Kernel& to, Kernel& from) {
  std::vector<KernelParameter> joined;
  auto add = [&](const Kernel& kernel, std::vector<int>& places, bool numbers) {
    places.resize(kernel.parameters.size());
    for (size_t k = 0; k < places.size(); ++k) {
      const KernelParameter& p = kernel.parameters[k];
      if ((p.kind == KernelParameter::kNumber) != numbers) continue;
      const auto known = std::ranges::find_if(
          joined, [&](const KernelParameter& q) { return q.buffer == p.buffer && q.dtype == p.dtype && q.number == p.number; });
      places[k] = static_cast<int>(known - joined.begin());
      if (known != joined.end()) continue;
      KernelParameter added = p;
      if (!numbers) {
        added.name = unused(p.name, joined, &KernelParameter::name);
        added.kind = KernelParameter::kInOut;  // settled when all statements are there
      }
      joined.push_back(std::move(added));
    }
  };
  std::vector<int> of_to, of_from;
  for (const bool numbers : {false, true}) {
    add(to, of_to, numbers);
    add(from, of_from, numbers);
  }
  redirect(to.body, of_to);
  redirect(from.body, of_from);
  to.parameters = std::move(joined);
}

struct Offsets {
  KernelValue value;
  int accumulator, origin;
};

void renumber(std::vector<KernelStatement>& body, const Offsets& by) {
  for (KernelStatement& s : body) {
    if (s.result != kNoKernelValue) s.result += by.value;
    for (KernelValue& v : s.operands)
      if (v != kNoKernelValue) v += by.value;
    if (s.accumulator >= 0) s.accumulator += by.accumulator;
    if (s.origin >= 0) s.origin += by.origin;
    if (s.kind == KernelOp::kLoop) renumber(s.loop->body, by);
  }
}

/// Puts the statements of `from` behind those of `to`.
void append_kernel(Kernel& to, Kernel& from) {
  LITZ_CHECK(to.context == from.context && to.scratch.empty() && from.scratch.empty(), "{} cannot become part of {}", from.name, to.name);
  join_parameters(to, from);
  renumber(from.body,
           {static_cast<KernelValue>(to.values.size()), static_cast<int>(to.accumulators.size()), static_cast<int>(to.origins.size())});
  std::ranges::move(from.values, std::back_inserter(to.values));
  for (Accumulator& a : from.accumulators) {
    a.name = fmt::format("{}{}", reduction_name(a.kind), to.accumulators.size());
    to.accumulators.push_back(std::move(a));
  }
  for (KernelOrigin& o : from.origins) {
    o.name = unused(o.name, to.origins, &KernelOrigin::name);
    to.origins.push_back(std::move(o));
  }
  std::ranges::move(from.body, std::back_inserter(to.body));
  drop_unused_parameters(to);
  list_assertions(to);
  narrow_indices(to);
  verify(to);
}

}  // namespace

bool join_kernels(const Schedule& schedule, std::vector<std::unique_ptr<Kernel>>& kernels, const JoinRules& rules) {
  KernelOrder order(schedule, kernels);
  bool changed = false;
  for (size_t later = 0; later < kernels.size(); ++later) {
    if (!kernels[later] || rules.is_fixed(later) || !rules.may_be_added(*kernels[later])) continue;
    const auto before = order.last_before(later);
    if (!before || !kernels[*before] || rules.is_fixed(*before)) continue;
    Kernel &into = *kernels[*before], &added = *kernels[later];
    // The blocks of the grid keep their dimensions.
    if (lane_depth(added.body) > lane_depth(into.body) || !share_device(into, added) || order.meet_in_other_shapes(into, added) ||
        !rules.fit(into, added))
      continue;
    rules.prepare(into, added);
    append_kernel(into, added);
    kernels[later].reset();
    order.join(*before, later);
    changed = true;
  }
  return changed;
}

}  // namespace litz
