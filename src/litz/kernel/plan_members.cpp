// plan_members: the members of a group with their bodies over the group's axes, legal numerics, linear offsets, and the memory
// that each access goes to.
#include <algorithm>
#include <unordered_map>

#include "litz/kernel/kernel_plan.h"
#include "litz/kernel/legalize_numerics.h"
#include "litz/kernel/linearize.h"
#include "litz/support/check.h"

namespace litz {

void for_each_expr(PlannedMember& member, const std::function<void(Expr&)>& visit) {
  for (Instr& instr : member.body.instrs) {
    if (instr.op == Op::kIndexExpr || instr.op == Op::kCheckIndex) visit(instr.expr);
    for (Expr& c : instr.coordinates) visit(c);
  }
  for (PlannedStore& store : member.stores) {
    if (store.buffer) visit(store.offset);
  }
}

void for_each_expr(KernelPlan& plan, const std::function<void(Expr&)>& visit) {
  for (PlannedMember& member : plan.members) for_each_expr(member, visit);
}

void substitute_axes(KernelPlan& plan, const Substitution& map) {
  for_each_expr(plan, [&](Expr& e) { e = substitute(e, map); });
}

Expr coefficient_of(Expr expr, Expr axis) {
  auto form = linear_form(expr, std::span(&axis, 1));
  return form ? form->coefficients[0] : Expr();
}

namespace {

/// How an internal buffer is kept: the dimensions that differ inside one outer iteration, less the part that outer axes add.
struct InternalLayout {
  std::vector<bool> kept;
  std::vector<Expr> outer_part;  // subtracted from kept coordinates
  std::vector<Expr> sizes;       // of kept dimensions
};

class MemberPlanner {
 public:
  MemberPlanner(const FusedGroup& group, const Schedule& schedule, const Target& target, const KernelOptions& options) {
    plan_.group = &group;
    plan_.schedule = &schedule;
    plan_.facts = &target.facts();
    plan_.context = schedule.program->context.get();
    plan_.options = options;
    for (Expr axis : group.axes) {
      if (!axis.extent().is_integer(1)) plan_.axes.push_back(axis);
      else unit_axes_.emplace_back(axis, plan_.context->integer(0));
    }
  }

  KernelPlan run() {
    for (const GroupMember& member : plan_.group->members) {
      for (Expr axis : member.local_axes) {
        if (axis.extent().is_integer(1)) unit_axes_.emplace_back(axis, plan_.context->integer(0));
      }
    }
    // A block that holds a whole axis runs for an axis without elements too.
    const bool is_grid = plan_.facts->execution == ExecutionModel::kGridOfBlocks;
    for (const GroupMember& member : plan_.group->members) {
      if (!is_grid || has_results(*member.operation)) rewrite_exprs(member);
    }
    promote_scatter_axes();
    if (!plan_.options.internal_in_memory)
      for (Buffer* buffer : plan_.group->internal_buffers) plan_internal(buffer);
    for (PlannedMember& member : plan_.members) plan_accesses(member);
    plan_numbers();
    return std::move(plan_);
  }

 private:
  ExprContext& context() { return *plan_.context; }

  static bool has_results(const Operation& op) {
    const size_t rank = op.kind == OperationKind::kReduction ? static_cast<size_t>(op.rank) : op.axes.size();
    return std::none_of(op.axes.begin(), op.axes.begin() + static_cast<std::ptrdiff_t>(rank),
                        [](Expr axis) { return axis.extent().is_integer(0); });
  }

  void rewrite_exprs(const GroupMember& member) {
    const Operation& op = *member.operation;
    LITZ_CHECK(member.axis_map.size() == op.axes.size(), "{}: {} mapped axes for {}", op.name, member.axis_map.size(), op.axes.size());
    PlannedMember out;
    out.operation = &op;
    out.kind = op.kind;
    out.reduction = op.reduction;
    out.accumulate = compute_type(op.accumulate);
    Substitution map;
    for (size_t i = 0; i < op.axes.size(); ++i) map.emplace_back(op.axes[i], substitute(member.axis_map[i], unit_axes_));
    for (const Instr& instr : op.body.instrs) {
      if (instr.op == Op::kIndirect) {
        const int64_t upper = instr.expr.range().upper;
        map.emplace_back(instr.expr, context().indirect(instr.expr.symbol_name(), context().integer(upper == kIntInf ? upper : upper + 1)));
      }
    }
    out.body = legalize_numerics(op.body, plan_.options.strict_numerics);
    for (Instr& instr : out.body.instrs) {
      if (instr.expr) instr.expr = substitute(instr.expr, map);
      for (Expr& c : instr.coordinates) c = substitute(c, map);
    }
    const bool reduces = op.kind == OperationKind::kReduction;
    for (Expr axis : member.local_axes) {
      if (axis.extent().is_integer(1)) continue;
      bool in_result = !reduces;
      if (reduces) {
        for (int i = 0; i < op.rank; ++i) in_result |= depends_on(map[i].second, axis);
      }
      if (op.kind == OperationKind::kScan) in_result = map[op.scan_axis].second != axis;
      (in_result ? out.kept : out.reduced).push_back(axis);
    }
    for (Buffer* buffer : op.outputs) {
      PlannedStore store;
      store.buffer = buffer;
      store.mode = op.kind == OperationKind::kScatter ? op.scatter_mode : ScatterMode::kStore;
      out.stores.push_back(store);
      if (buffer) store_coordinates_[{&op, buffer}] = output_coordinates(op, *buffer, map);
    }
    plan_.members.push_back(std::move(out));
  }

  /// A lone scatter's axes become outer ones: those along which no element is met twice can be shared out.
  void promote_scatter_axes() {
    if (plan_.members.size() != 1 || plan_.members[0].kind != OperationKind::kScatter) return;
    PlannedMember& scatter = plan_.members[0];
    plan_.axes.insert(plan_.axes.end(), scatter.kept.begin(), scatter.kept.end());
    scatter.kept.clear();
  }

  std::vector<Expr> output_coordinates(const Operation& op, const Buffer& buffer, const Substitution& map) {
    std::vector<Expr> coordinates;
    if (op.kind == OperationKind::kScatter) {
      for (Expr c : op.scatter_coordinates) coordinates.push_back(substitute(c, map));
      return coordinates;
    }
    const size_t rank = op.kind == OperationKind::kReduction ? static_cast<size_t>(op.rank) : op.axes.size();
    if (buffer.sizes.size() == rank) {
      for (size_t i = 0; i < rank; ++i) coordinates.push_back(map[i].second);
      return coordinates;
    }
    size_t next = 0;  // reduced dimensions that are kept with size 1
    for (Expr size : buffer.sizes) {
      if (size.is_integer(1)) coordinates.push_back(context().integer(0));
      else coordinates.push_back(next < rank ? map[next++].second : Expr());
    }
    LITZ_CHECK(next == rank && std::ranges::all_of(coordinates, [](Expr c) { return bool(c); }), "{}: output {} has rank {}, axes give {}",
               op.name, buffer.name, buffer.sizes.size(), rank);
    return coordinates;
  }

  bool is_outer(Expr symbol) const { return std::ranges::find(plan_.axes, symbol) != plan_.axes.end(); }
  bool has_local(Expr expr) const {
    return std::ranges::any_of(free_symbols(expr), [&](Expr s) {
      return s.symbol_kind() == SymbolKind::kIndirect || (s.symbol_kind() == SymbolKind::kAxis && !is_outer(s));
    });
  }
  /// The sum of the terms in outer axes, if the rest has none; null otherwise.
  Expr outer_terms(Expr expr) {
    auto form = linear_form(expr, plan_.axes);
    if (!form) return Expr();
    Expr outer = context().integer(0);
    for (size_t i = 0; i < plan_.axes.size(); ++i) outer = outer + form->coefficients[i] * plan_.axes[i];
    return outer;
  }

  void plan_internal(Buffer* buffer) {
    InternalLayout layout;
    const std::vector<Expr>* written = nullptr;
    for (const auto& [key, coordinates] : store_coordinates_) {
      if (key.second == buffer) written = &coordinates;
    }
    LITZ_CHECK(written, "internal buffer {} is written by no member", buffer->name);
    std::vector<const std::vector<Expr>*> reads;
    for (PlannedMember& member : plan_.members) {
      for (Instr& instr : member.body.instrs) {
        if (instr.op == Op::kLoad && instr.buffer == buffer) reads.push_back(&instr.coordinates);
      }
    }
    Expr elements = context().integer(1);
    for (size_t d = 0; d < buffer->sizes.size(); ++d) {
      Expr w = (*written)[d];
      layout.kept.push_back(has_local(w));
      layout.outer_part.push_back(context().integer(0));
      layout.sizes.push_back(buffer->sizes[d]);
      if (!layout.kept[d]) continue;
      Expr outer = outer_terms(w);
      const bool contracts = outer && std::ranges::all_of(reads, [&](auto* r) { return outer_terms((*r)[d]) == outer; });
      if (contracts && !outer.is_integer(0)) {
        Expr inner = w - outer;
        int64_t upper = inner.range().upper;
        if (inner.range().lower >= 0 && upper != kIntInf) {
          layout.outer_part[d] = outer;
          layout.sizes[d] = context().integer(upper + 1);
        } else if (inner.is_symbol() && inner.extent()) {
          layout.outer_part[d] = outer;
          layout.sizes[d] = inner.extent();
        }
      }
      elements = elements * layout.sizes[d];
    }
    KernelScratch scratch;
    scratch.name = buffer->name;
    scratch.dtype = buffer->dtype;
    scratch.elements = elements;
    scratch.buffer = buffer;
    internal_[buffer] = {static_cast<int>(plan_.scratch.size()), layout};
    plan_.scratch.push_back(scratch);
  }

  std::pair<Memory, Expr> place(const Buffer& buffer, const std::vector<Expr>& coordinates, bool writes) {
    auto internal = internal_.find(&buffer);
    if (internal != internal_.end()) {
      const InternalLayout& layout = internal->second.second;
      std::vector<Expr> inner, sizes;
      for (size_t d = 0; d < coordinates.size(); ++d) {
        if (!layout.kept[d]) continue;
        inner.push_back(coordinates[d] - layout.outer_part[d]);
        sizes.push_back(layout.sizes[d]);
      }
      return {Memory{true, internal->second.first}, flatten(context(), inner, sizes)};
    }
    Place at = linearize(buffer, coordinates, *plan_.schedule, context());
    const KernelParameter::Kind kind = writes ? KernelParameter::kOutput : KernelParameter::kInput;
    for (size_t k = 0; k < plan_.parameters.size(); ++k) {
      KernelParameter& p = plan_.parameters[k];
      if (p.buffer != at.storage || p.dtype != buffer.dtype) continue;
      if (p.kind != kind) p.kind = KernelParameter::kInOut;
      return {Memory{false, static_cast<int>(k)}, at.offset};
    }
    KernelParameter p;
    p.kind = kind;
    p.name = buffer.name;
    p.buffer = at.storage;
    p.dtype = buffer.dtype;
    plan_.parameters.push_back(p);
    return {Memory{false, static_cast<int>(plan_.parameters.size()) - 1}, at.offset};
  }

  void plan_accesses(PlannedMember& member) {
    member.loads.resize(member.body.instrs.size());
    for (size_t k = 0; k < member.body.instrs.size(); ++k) {
      Instr& instr = member.body.instrs[k];
      if (instr.op != Op::kLoad) continue;
      auto [memory, offset] = place(*instr.buffer, instr.coordinates, false);
      member.loads[k] = memory;
      instr.coordinates = {offset};
    }
    for (PlannedStore& store : member.stores) {
      if (!store.buffer) continue;
      auto [memory, offset] = place(*store.buffer, store_coordinates_[{member.operation, store.buffer}], true);
      store.memory = memory;
      store.offset = offset;
    }
    if (member.kind == OperationKind::kScatter) plan_scatter(member);
  }

  void plan_scatter(const PlannedMember& member) {
    const Operation& op = *member.operation;
    KernelParameter& p = plan_.parameters[member.stores[0].memory.index];
    if (op.scatter_base) {
      LITZ_CHECK(plan_.schedule->shared_storage(op.scatter_base) == plan_.schedule->shared_storage(op.outputs[0]),
                 "{}: the scatter's output {} does not share storage with its base {}", op.name, op.outputs[0]->name,
                 op.scatter_base->name);
      p.kind = KernelParameter::kInOut;
    }
    if (plan_.facts->has_atomics && op.scatter_mode != ScatterMode::kMul) return;
    // A coordinate that is an axis itself keeps that axis' iterations apart; along the others elements may meet
    // (and of plain stores the last one stays, whatever the split).
    const std::vector<Expr>& coordinates = store_coordinates_[{&op, op.outputs[0]}];
    for (Expr axis : plan_.axes) {
      const bool is_apart = std::ranges::find(coordinates, axis) != coordinates.end();
      if (!is_apart && std::ranges::find(plan_.serial_axes, axis) == plan_.serial_axes.end()) plan_.serial_axes.push_back(axis);
    }
  }

  void plan_numbers() {
    std::vector<Expr> symbols;
    auto need = [&](Expr expr) {
      for (Expr s : free_symbols(expr)) {
        const bool is_number = s.symbol_kind() == SymbolKind::kSize || s.symbol_kind() == SymbolKind::kUnbacked;
        if (is_number && std::ranges::find(symbols, s) == symbols.end()) symbols.push_back(s);
      }
    };
    for (Expr axis : plan_.axes) need(axis.extent());
    for (PlannedMember& member : plan_.members) {
      for (Expr axis : member.kept) need(axis.extent());
      for (Expr axis : member.reduced) need(axis.extent());
    }
    for_each_expr(plan_, [&](Expr& e) { need(e); });
    for (const KernelScratch& scratch : plan_.scratch) need(scratch.elements);
    for (Expr s : symbols) {
      KernelParameter p;
      p.kind = KernelParameter::kNumber;
      p.name = std::string(s.symbol_name());
      p.dtype = DType::kInt64;
      p.number = s;
      plan_.parameters.push_back(p);
    }
  }

  struct PairHash {
    size_t operator()(const std::pair<const Operation*, const Buffer*>& p) const {
      return std::hash<const void*>()(p.first) * 31 + std::hash<const void*>()(p.second);
    }
  };

  KernelPlan plan_;
  Substitution unit_axes_;
  std::unordered_map<std::pair<const Operation*, const Buffer*>, std::vector<Expr>, PairHash> store_coordinates_;
  std::unordered_map<const Buffer*, std::pair<int, InternalLayout>> internal_;
};

}  // namespace

KernelPlan plan_members(const FusedGroup& group, const Schedule& schedule, const Target& target, const KernelOptions& options) {
  LITZ_CHECK(group.kind == GroupKind::kLoops, "group {} is a library call, not loops", group.name);
  return MemberPlanner(group, schedule, target, options).run();
}

}  // namespace litz
