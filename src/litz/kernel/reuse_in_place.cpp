#include "litz/kernel/reuse_in_place.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "litz/graph/ops.h"
#include "litz/kernel/linearize.h"
#include "litz/kernel/tree_passes.h"
#include "litz/loop/dense_strides.h"
#include "litz/loop/dependences.h"
#include "litz/schedule/decide_layouts.h"

namespace litz {
namespace {

/// A load or store of a parameter: where in the tree, and the loops around it, outermost first.
struct Access {
  const KernelStatement* statement = nullptr;
  std::vector<const KernelLoop*> loops;
  int at = 0;  // position in tree order
};

class Accesses {
 public:
  explicit Accesses(const Kernel& kernel) : of_(kernel.parameters.size()) { walk(kernel.body); }
  const std::vector<Access>& of(size_t parameter) const { return of_[parameter]; }

 private:
  void walk(const std::vector<KernelStatement>& body) {
    for (const KernelStatement& s : body) {
      ++at_;
      const bool accesses = s.kind == KernelOp::kLoad || s.kind == KernelOp::kStore;
      if (accesses && !s.memory.is_scratch) of_[s.memory.index].push_back({&s, loops_, at_});
      if (s.kind != KernelOp::kLoop) continue;
      loops_.push_back(s.loop.get());
      walk(s.loop->body);
      loops_.pop_back();
    }
  }

  std::vector<std::vector<Access>> of_;
  std::vector<const KernelLoop*> loops_;
  int at_ = 0;
};

/// Every element that the load reads is written by the store later, and not before: see the header.
bool reads_before(const Access& load, const Access& store) {
  if (load.at > store.at || load.loops.size() != store.loops.size()) return false;
  size_t shared = 0;
  while (shared < load.loops.size() && load.loops[shared] == store.loops[shared]) ++shared;
  Substitution map;
  for (size_t k = shared; k < load.loops.size(); ++k) {
    if (load.loops[k]->extent != store.loops[k]->extent) return false;
    map.emplace_back(load.loops[k]->axis, store.loops[k]->axis);
  }
  return substitute(load.statement->offset, map) == store.statement->offset;
}

/// The store writes each element once: as many iterations as elements.
bool writes_once(const Access& store, const Buffer& buffer) {
  ExprContext& context = store.statement->offset.context();
  Expr iterations = context.integer(1);
  for (const KernelLoop* loop : store.loops) iterations = iterations * loop->extent;
  return !store.statement->is_scatter && iterations == product(context, buffer.sizes);
}

class InPlace {
 public:
  InPlace(Schedule& schedule, std::vector<std::unique_ptr<Kernel>>& kernels, const Target& target)
      : schedule_(schedule),
        kernels_(kernels),
        is_grid_(target.facts().execution == ExecutionModel::kGridOfBlocks) {
    for (const auto& out : schedule.program->outputs)
      if (auto* t = std::get_if<ExternTensor>(&out.value)) for_each_storage(t->buffer, [&](const Buffer* b) { outside_.insert(root(b)); });
    for (const auto& m : schedule.program->mutations) outside_.insert(root(m.last_version));
    for (size_t g = 0; g < schedule.groups.size(); ++g)
      for_each_buffer(g, [&](Buffer* named) {
        for_each_storage(named, [&](const Buffer* b) {
          first_.try_emplace(root(b), g);
          last_[root(b)] = g;
        });
      });
  }

  bool run() {
    bool changed = false;
    for (size_t g = 0; g < kernels_.size(); ++g)
      if (kernels_[g]) changed |= visit(*kernels_[g], g);
    return changed;
  }

 private:
  const Buffer* root(const Buffer* b) const { return schedule_.shared_storage(b); }

  template <typename F>
  void for_each_buffer(size_t g, F&& f) {
    if (kernels_[g]) {
      for (const KernelParameter& p : kernels_[g]->parameters)
        if (p.buffer) f(p.buffer);
      return;
    }
    for (const GroupMember& m : schedule_.groups[g]->members) {
      for (const auto& a : m.operation->arguments) for_each_tensor(a, [&](const ExternTensor& t) { f(t.buffer); });
      for (Buffer* b : m.operation->outputs) f(b);
    }
  }

  /// Whether nobody else can hold that memory: the plan allocates it, or a library gives a fresh tensor.
  static bool is_ours(const Buffer& b) {
    if (b.kind != BufferKind::kComputed || !b.definition || b.layout.kind != LayoutKind::kStrided || b.layout.offset || b.version_of)
      return false;
    if (b.definition->kind != OperationKind::kExtern || b.definition->writes_planned_output) return true;
    const Primitive* op = find_primitive(b.definition->callee->name);
    return op && op->family == OpFamily::kLibrary;
  }

  bool is_dense(const Buffer& b) const {
    return b.layout.strides == dense_strides(*schedule_.program->context, b.sizes, stride_order(b.sizes, b.layout.strides));
  }

  /// One shape over the same elements, or two dense ones (a reshape between library calls); what the caller gets keeps its own shape.
  bool lie_alike(const Buffer& home, const Buffer& out) const {
    if (home.dtype != out.dtype || home.device != out.device) return false;
    if (home.sizes == out.sizes && home.layout.strides == out.layout.strides) return true;
    ExprContext& context = *schedule_.program->context;
    return !outside_.contains(&out) && product(context, home.sizes) == product(context, out.sizes) && is_dense(home) && is_dense(out);
  }

  bool visit(Kernel& kernel, size_t g) {
    // A block's threads do not run in step: one may store before another has loaded, unless each keeps to its own elements.
    if (is_grid_ && !(kernel.accumulators.empty() && kernel.scratch.empty())) return false;
    std::unordered_map<const Buffer*, int> parameters_of;
    for (const KernelParameter& p : kernel.parameters)
      if (p.buffer) ++parameters_of[root(p.buffer)];
    const Accesses accesses(kernel);
    std::vector<int> merged(kernel.parameters.size(), -1);  // an output's input
    for (size_t o = 0; o < kernel.parameters.size(); ++o) {
      const KernelParameter& out = kernel.parameters[o];
      if (out.kind != KernelParameter::kOutput || root(out.buffer) != out.buffer || first_.at(out.buffer) != g) continue;
      if (out.buffer->layout.kind != LayoutKind::kStrided || out.buffer->layout.offset || parameters_of[out.buffer] != 1) continue;
      for (size_t i = 0; i < kernel.parameters.size(); ++i) {
        const KernelParameter& in = kernel.parameters[i];
        if (in.kind != KernelParameter::kInput || in.buffer->layout.kind != LayoutKind::kStrided) continue;
        Buffer* home = schedule_.shared_storage(in.buffer);
        if (last_.at(home) != g || parameters_of[home] != 1 || outside_.contains(home) || !is_ours(*home)) continue;
        if (in.dtype != out.dtype || !lie_alike(*home, *out.buffer)) continue;
        if (std::ranges::find(merged, static_cast<int>(i)) != merged.end() || !may_share(accesses.of(i), accesses.of(o), *out.buffer))
          continue;
        merged[o] = static_cast<int>(i);
        share(out.buffer, home);
        break;
      }
    }
    if (std::ranges::all_of(merged, [](int m) { return m < 0; })) return false;
    redirect(kernel.body, merged);
    drop_unused_parameters(kernel);
    verify(kernel);
    return true;
  }

  static bool may_share(const std::vector<Access>& loads, const std::vector<Access>& stores, const Buffer& buffer) {
    if (stores.size() != 1 || !writes_once(stores[0], buffer)) return false;
    return std::ranges::all_of(loads, [&](const Access& load) { return reads_before(load, stores[0]); });
  }

  void share(Buffer* out, Buffer* in) {
    schedule_.storage_of[out] = in;
    in->escapes |= out->escapes;
    last_[in] = std::max(last_[in], last_[out]);
    if (outside_.contains(out)) outside_.insert(in);
  }

  static void redirect(std::vector<KernelStatement>& body, const std::vector<int>& merged) {
    for (KernelStatement& s : body) {
      if (s.kind == KernelOp::kLoop) redirect(s.loop->body, merged);
      const bool accesses = s.kind == KernelOp::kLoad || s.kind == KernelOp::kStore;
      if (accesses && !s.memory.is_scratch && merged[s.memory.index] >= 0) s.memory.index = merged[s.memory.index];
    }
  }

  Schedule& schedule_;
  std::vector<std::unique_ptr<Kernel>>& kernels_;
  const bool is_grid_;
  std::unordered_set<const Buffer*> outside_;               // storage that the caller sees
  std::unordered_map<const Buffer*, size_t> first_, last_;  // groups that touch a storage
};

}  // namespace

bool reuse_in_place(Schedule& schedule, std::vector<std::unique_ptr<Kernel>>& kernels, const Target& target) {
  return InPlace(schedule, kernels, target).run();
}

}  // namespace litz
