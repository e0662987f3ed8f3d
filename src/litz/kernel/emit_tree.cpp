// emit_tree: the plan as a tree of loops. A statement is placed in the outermost loop where all it depends on is known (so what is
// invariant is hoisted), equal statements of one place are one, and a load of what was just stored at the same point is the value.
#include <algorithm>
#include <unordered_map>

#include "litz/kernel/kernel_plan.h"
#include "litz/kernel/legalize_numerics.h"
#include "litz/kernel/tree_passes.h"
#include "litz/kernel/work.h"
#include "litz/support/check.h"

namespace litz {
namespace {

constexpr int kCascadeTerms = 128;  // additions in a row before a partial sum moves to the second level

uint64_t mix(uint64_t h, uint64_t v) { return (h ^ (v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2))) * 0xff51afd7ed558ccdull; }

uint64_t hash_statement(const KernelStatement& s) {
  uint64_t h = mix(static_cast<uint64_t>(s.kind), static_cast<uint64_t>(s.instr.op) * 64 + static_cast<uint64_t>(s.instr.dtype));
  for (KernelValue v : s.operands) h = mix(h, static_cast<uint64_t>(v));
  h = mix(h, s.instr.expr ? s.instr.expr.id() : 0);
  h = mix(h, s.offset ? s.offset.id() : 0);
  return mix(h, static_cast<uint64_t>(s.memory.index));
}

/// The ops of the graph that the operation came from, and where the user wrote them.
std::string citation(const Operation& op) {
  std::string text;
  for (const Node* node : op.sources) {
    text += fmt::format("{}{}", text.empty() ? "" : "; ", node->op_name());
    if (node->source && !node->source->file.empty())
      text += fmt::format(" at {}:{}: {}", node->source->file, node->source->line, node->source->text);
  }
  return text;
}

/// An open loop (or the kernel itself) and what has been computed in it.
struct Scope {
  std::unique_ptr<KernelLoop> loop;  // null for the kernel
  std::vector<KernelStatement>* body = nullptr;
  struct Known {
    size_t position;  // of the statement in body
    KernelValue value;
  };
  std::unordered_multimap<uint64_t, Known> known;
  struct Stored {
    const Buffer* buffer;
    Expr offset;
    KernelValue value;
  };
  std::vector<Stored> stored;
};

class TreeEmitter {
 public:
  explicit TreeEmitter(KernelPlan& plan) : plan_(plan), kernel_(std::make_unique<Kernel>()) {}

  std::unique_ptr<Kernel> run() {
    kernel_->context = plan_.schedule->program->context;
    kernel_->name = plan_.group->name;
    list_origins();
    kernel_->parameters = plan_.parameters;
    kernel_->scratch = plan_.scratch;
    find_written();
    scopes_.emplace_back();
    scopes_.back().body = &kernel_->body;
    for (Expr axis : plan_.axes) {
      const bool parallel = std::ranges::find(plan_.serial_axes, axis) == plan_.serial_axes.end();
      const int step = outer_step(axis);
      open_loop(axis, step ? step : 1, step != 0, parallel, 0);
      if (parallel) parallel_levels_ = scopes_.size() - 1;
    }
    if (plan_.whole_axis) {
      open_loop(plan_.whole_axis, plan_.whole_step, true, false, 0);
      parallel_levels_ = scopes_.size() - 1;
    }
    if (plan_.outer_lane_axis) widen_scratch();
    for (PlannedNest& nest : plan_.nests) emit_nest(nest);
    while (scopes_.size() > 1) close_loop();
    set_range();
    return std::move(kernel_);
  }

 private:
  ExprContext& context() { return *plan_.context; }

  /// Values an iteration of an outer loop takes as lanes; 0: it has none.
  int outer_step(Expr axis) const {
    for (const auto& [block, step] : plan_.blocks) {
      if (block == axis) return step;
    }
    return axis == plan_.outer_lane_axis ? plan_.outer_step : 0;
  }

  void find_written() {
    for (const PlannedMember& member : plan_.members) {
      for (const PlannedStore& store : member.stores) {
        if (!store.buffer) continue;
        auto& set = store.memory.is_scratch ? written_scratch_ : written_parameters_;
        if (static_cast<int>(set.size()) <= store.memory.index) set.resize(store.memory.index + 1);
        set[store.memory.index] = true;
      }
    }
  }
  bool is_written(Memory m) const {
    const auto& set = m.is_scratch ? written_scratch_ : written_parameters_;
    return m.index < static_cast<int>(set.size()) && set[m.index];
  }

  void list_origins() {
    std::unordered_map<std::string, int> named;
    for (const GroupMember& member : plan_.group->members) {
      const Operation& op = *member.operation;
      origin_of_[&op] = static_cast<int>(kernel_->origins.size());
      const int before = named[op.name]++;
      kernel_->origins.push_back({before ? fmt::format("{}_{}", op.name, before) : op.name, citation(op)});
    }
  }

  // ---- loops ----

  KernelLoop& open_loop(Expr axis, int step, bool lanes, bool parallel, int cascade) {
    auto loop = std::make_unique<KernelLoop>();
    loop->axis = axis;
    loop->extent = axis.extent();
    loop->step = context().integer(step);
    loop->has_lanes = lanes;
    loop->is_parallel = parallel;
    loop->cascade = cascade;
    if (lanes) loop->lane = context().axis("lane", loop->step);
    loop->is_whole = lanes && !parallel && axis.extent().is_integer() && axis.extent().integer() <= step;
    level_of_axis_[axis] = static_cast<int>(scopes_.size());
    if (lanes) level_of_axis_[loop->lane] = static_cast<int>(scopes_.size());
    Scope scope;
    scope.body = &loop->body;
    scope.loop = std::move(loop);
    scopes_.push_back(std::move(scope));
    return *scopes_.back().loop;
  }

  void close_loop() {
    Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    level_of_axis_.erase(scope.loop->axis);
    if (scope.loop->lane) level_of_axis_.erase(scope.loop->lane);
    KernelStatement statement;
    statement.kind = KernelOp::kLoop;
    statement.loop = std::move(scope.loop);
    scopes_.back().body->push_back(std::move(statement));
  }

  /// With lanes over an outer axis each lane has a scratch element of its own.
  void widen_scratch() {
    KernelLoop* lanes = nullptr;
    for (Scope& scope : scopes_) {
      if (scope.loop && scope.loop->has_lanes) lanes = scope.loop.get();
    }
    auto widen = [&](Expr offset) { return offset * lanes->step + lanes->lane; };
    for (PlannedMember& member : plan_.members) {
      for (size_t k = 0; k < member.body.instrs.size(); ++k) {
        Instr& instr = member.body.instrs[k];
        if (instr.op == Op::kLoad && member.loads[k].is_scratch) instr.coordinates[0] = widen(instr.coordinates[0]);
      }
      for (PlannedStore& store : member.stores) {
        if (store.buffer && store.memory.is_scratch) store.offset = widen(store.offset);
      }
    }
    for (KernelScratch& scratch : kernel_->scratch) scratch.elements = scratch.elements * lanes->step;
  }

  // ---- placing statements ----

  int level_of(Expr expr) const {
    int level = 0;
    if (!expr) return level;
    for (Expr s : free_symbols(expr)) {
      if (auto axis = level_of_axis_.find(s); axis != level_of_axis_.end()) level = std::max(level, axis->second);
      else if (auto bound = bound_.find(s); bound != bound_.end()) level = std::max(level, value_level_[bound->second]);
      else
        LITZ_CHECK(s.symbol_kind() != SymbolKind::kAxis && s.symbol_kind() != SymbolKind::kIndirect, "{}: {} is not known here",
                   kernel_->name, s.symbol_name());
    }
    return level;
  }

  KernelValue new_value(DType dtype, int level) {
    kernel_->values.push_back({dtype, {}});
    value_level_.push_back(level);
    return static_cast<KernelValue>(kernel_->values.size()) - 1;
  }

  KernelValue place(KernelStatement statement, DType dtype, int least_level = 0) {
    int level = std::max({least_level, level_of(statement.offset), level_of(statement.instr.expr)});
    for (KernelValue v : statement.operands) {
      if (v != kNoKernelValue) level = std::max(level, value_level_[v]);
    }
    Scope& scope = scopes_[level];
    const uint64_t hash = hash_statement(statement);
    auto [first, last] = scope.known.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      const KernelStatement& known = (*scope.body)[it->second.position];
      if (known.operands == statement.operands && same_but_for_operands(known, statement)) return it->second.value;
    }
    const KernelValue value = new_value(dtype, level);
    statement.result = value;
    scope.known.emplace(hash, Scope::Known{scope.body->size(), value});
    scope.body->push_back(std::move(statement));
    definition_.resize(value + 1);
    definition_[value] = {level, scope.body->size() - 1};
    return value;
  }

  void append(KernelStatement statement) { scopes_.back().body->push_back(std::move(statement)); }

  const KernelStatement* definition(KernelValue v) const {
    if (v >= static_cast<KernelValue>(definition_.size()) || definition_[v].first < 0) return nullptr;
    return &(*scopes_[definition_[v].first].body)[definition_[v].second];
  }

  KernelValue compute(const Instr& instr, std::vector<KernelValue> operands, const Operation* source) {
    if (instr.op == Op::kCast || instr.op == Op::kCastKept) {
      if (KernelValue same = drop_cast(instr, operands[0]); same != kNoKernelValue) return same;
    }
    KernelStatement statement;
    statement.kind = KernelOp::kCompute;
    statement.instr = instr;
    statement.operands = std::move(operands);
    statement.origin = origin_of_.at(source);
    return place(std::move(statement), instr.result_dtype());
  }

  KernelValue cast(KernelValue value, DType dtype, const Operation* source) {
    if (kernel_->values[value].dtype == dtype) return value;
    Instr instr;
    instr.op = Op::kCast;
    instr.dtype = dtype;
    return compute(instr, {value}, source);
  }

  /// The operand's own operand, where a cast there and back changes nothing or may be dropped.
  KernelValue drop_cast(const Instr& instr, KernelValue operand) {
    const KernelStatement* inner = definition(operand);
    if (!inner || inner->kind != KernelOp::kCompute || (inner->instr.op != Op::kCast && inner->instr.op != Op::kCastKept))
      return kNoKernelValue;
    const KernelValue source = inner->operands[0];
    if (kernel_->values[source].dtype != instr.dtype) return kNoKernelValue;
    const bool there_is_wide = compute_type(instr.dtype) == inner->instr.dtype && instr.dtype != inner->instr.dtype;
    if (there_is_wide) return source;  // narrow -> wide -> narrow
    const bool there_is_narrow = compute_type(inner->instr.dtype) == instr.dtype && instr.dtype != inner->instr.dtype;
    if (there_is_narrow && inner->instr.op == Op::kCast && !plan_.options.strict_numerics) return source;
    return kNoKernelValue;
  }

  // ---- bodies ----

  KernelValue load(const PlannedMember& member, const Instr& instr, Memory memory, Expr offset, KernelValue predicate) {
    for (size_t k = scopes_.size(); k-- > 0;) {
      for (const Scope::Stored& s : scopes_[k].stored) {
        if (s.buffer != instr.buffer || s.offset != offset) continue;
        if (predicate == kNoKernelValue) return s.value;
        Instr zero;
        zero.op = Op::kConstant;
        zero.dtype = instr.dtype;
        zero.number = instr.number;
        Instr where;
        where.op = Op::kWhere;
        where.dtype = compute_type(instr.dtype);
        zero.dtype = where.dtype;
        KernelValue other = compute(zero, {}, member.operation);
        KernelValue chosen = compute(where, {predicate, cast(s.value, where.dtype, member.operation), other}, member.operation);
        return cast(chosen, instr.dtype, member.operation);
      }
    }
    KernelStatement statement;
    statement.kind = KernelOp::kLoad;
    statement.instr.op = Op::kLoad;
    statement.instr.dtype = instr.dtype;
    statement.instr.number = instr.number;
    statement.instr.buffer = instr.buffer;
    statement.memory = memory;
    statement.offset = offset;
    statement.origin = origin_of_.at(member.operation);
    if (predicate != kNoKernelValue) statement.operands.push_back(predicate);
    return place(std::move(statement), instr.dtype, is_written(memory) ? static_cast<int>(parallel_levels_) : 0);
  }

  /// Values of the yields. Symbols of indirect loads that stand for one value become one symbol.
  std::vector<KernelValue> emit_body(const PlannedMember& member, Substitution& indirect) {
    std::vector<KernelValue> values;
    for (size_t k = 0; k < member.body.instrs.size(); ++k) {
      Instr instr = member.body.instrs[k];
      auto at = [&](int i) { return instr.operands[i] == kNoValue ? kNoKernelValue : values[instr.operands[i]]; };
      auto current = [&](Expr e) { return indirect.empty() || !e ? e : substitute(e, indirect); };
      if (instr.op == Op::kLoad) {
        values.push_back(load(member, instr, member.loads[k], current(instr.coordinates[0]), at(0)));
        continue;
      }
      if (instr.op == Op::kIndirect) {
        values.push_back(bind(instr, at(0), indirect, member.operation));
        continue;
      }
      std::vector<KernelValue> operands;
      for (int i = 0; i < op_operands(instr.op); ++i) operands.push_back(at(i));
      instr.expr = current(instr.expr);
      instr.operands = {kNoValue, kNoValue, kNoValue};
      values.push_back(compute(instr, std::move(operands), member.operation));
    }
    std::vector<KernelValue> yields;
    for (ValueId y : member.body.yields) yields.push_back(values[y]);
    return yields;
  }

  KernelValue bind(const Instr& instr, KernelValue value, Substitution& indirect, const Operation* source) {
    auto known = symbol_of_.find(value);
    if (known != symbol_of_.end()) {
      indirect.emplace_back(instr.expr, known->second);
      return value;
    }
    symbol_of_[value] = instr.expr;
    bound_[instr.expr] = value;
    Instr binding;
    binding.op = Op::kIndirect;
    binding.dtype = instr.dtype;
    binding.expr = instr.expr;
    return compute(binding, {value}, source);
  }

  void store(const PlannedMember& member, const PlannedStore& at, KernelValue value, const Substitution& indirect) {
    if (!at.buffer) return;
    value = cast(value, at.buffer->dtype, member.operation);
    KernelStatement statement;
    statement.kind = KernelOp::kStore;
    statement.memory = at.memory;
    statement.offset = indirect.empty() ? at.offset : substitute(at.offset, indirect);
    statement.mode = at.mode;
    statement.is_scatter = member.kind == OperationKind::kScatter;
    statement.operands = {value};
    // The block holds an axis that the scatter does not walk: each element once, not once for every lane.
    if (statement.is_scatter && plan_.whole_axis && member.kept.empty()) statement.operands.push_back(is_first(plan_.whole_axis, member));
    statement.origin = origin_of_.at(member.operation);
    if (at.mode == ScatterMode::kStore && member.kind != OperationKind::kScatter) {
      scopes_.back().stored.push_back({at.buffer, statement.offset, value});
    }
    append(std::move(statement));
  }

  KernelValue is_first(Expr axis, const PlannedMember& member) {
    Instr index;
    index.op = Op::kIndexExpr;
    index.dtype = DType::kInt64;
    index.expr = axis;
    Instr zero;
    zero.op = Op::kConstant;
    zero.dtype = DType::kInt64;
    Instr equal;
    equal.op = Op::kEq;
    equal.dtype = DType::kInt64;
    return compute(equal, {compute(index, {}, member.operation), compute(zero, {}, member.operation)}, member.operation);
  }

  // ---- reductions ----

  DType accumulator_type(const PlannedMember& member) const {
    switch (member.reduction) {
      case ReductionKind::kAny:
      case ReductionKind::kAll: return DType::kBool;
      case ReductionKind::kMin:
      case ReductionKind::kMax: return compute_type(member.body.yield_dtype(0));
      case ReductionKind::kArgMin:
      case ReductionKind::kArgMax:
      case ReductionKind::kMinWithIndex:
      case ReductionKind::kMaxWithIndex:
      case ReductionKind::kSort:
      case ReductionKind::kSortDescending:
        return member.body.yield_dtype(0) == DType::kBool ? DType::kUInt8 : compute_type(member.body.yield_dtype(0));
      default: return member.accumulate;
    }
  }

  int init(const PlannedMember& member) {
    Accumulator a;
    a.name = std::string(reduction_name(member.reduction)) + std::to_string(kernel_->accumulators.size());
    a.kind = member.reduction;
    a.dtype = accumulator_type(member);
    a.is_scan = member.kind == OperationKind::kScan;
    if (reduction_traits(member.reduction).inputs == 2) a.index_dtype = member.body.yield_dtype(1);
    kernel_->accumulators.push_back(std::move(a));
    KernelStatement statement;
    statement.kind = KernelOp::kInit;
    statement.accumulator = static_cast<int>(kernel_->accumulators.size()) - 1;
    statement.origin = origin_of_.at(member.operation);
    append(std::move(statement));
    return static_cast<int>(kernel_->accumulators.size()) - 1;
  }

  void update(const PlannedMember& member, int accumulator, std::vector<KernelValue> values) {
    values[0] = cast(values[0], kernel_->accumulators[accumulator].dtype, member.operation);
    KernelStatement statement;
    statement.kind = KernelOp::kUpdate;
    statement.accumulator = accumulator;
    statement.operands = std::move(values);
    statement.origin = origin_of_.at(member.operation);
    append(std::move(statement));
  }

  std::vector<KernelValue> finish(const PlannedMember& member, int accumulator) {
    const Accumulator& a = kernel_->accumulators[accumulator];
    const int level = static_cast<int>(scopes_.size()) - 1;
    std::vector<KernelValue> results;
    for (int k = 0; k < accumulator_outputs(a); ++k) results.push_back(new_value(accumulator_result_type(a, k), level));
    definition_.resize(kernel_->values.size(), {-1, 0});
    KernelStatement statement;
    statement.kind = KernelOp::kFinish;
    statement.accumulator = accumulator;
    statement.result = results[0];
    statement.origin = origin_of_.at(member.operation);
    append(std::move(statement));
    return results;
  }

  static bool sums_floats(const Accumulator& a) { return a.kind == ReductionKind::kSum && is_floating(a.dtype); }

  /// The loop among the reduced ones (index into nest.axes) that moves partial sums on, and after how many iterations; or none.
  std::pair<size_t, int> choose_cascade(const PlannedNest& nest, bool has_sums) const {
    if (!has_sums || plan_.facts->execution == ExecutionModel::kGridOfBlocks) return {nest.axes.size(), 0};
    double terms = 1;
    for (size_t k = nest.axes.size(); k-- > nest.kept_count;) {
      const double inner = terms;
      const double step = nest.axes[k] == nest.lane_axis ? nest.step : 1;
      const auto known = nest.axes[k].extent().as_integer();
      terms *= known ? std::max(1.0, static_cast<double>(*known) / step) : 1e9;
      if (terms > 2 * kCascadeTerms) return {k, std::max(1, static_cast<int>(kCascadeTerms / inner))};
    }
    return {nest.axes.size(), 0};
  }

  void emit_nest(PlannedNest& nest) {
    auto open = [&](size_t k, int cascade) {
      const bool lanes = nest.axes[k] == nest.lane_axis;
      open_loop(nest.axes[k], lanes ? nest.step : 1, lanes, false, cascade);
    };
    for (size_t k = 0; k < nest.kept_count; ++k) open(k, 0);
    std::unordered_map<const PlannedMember*, int> accumulators;
    bool has_sums = false;
    for (PlannedMember* member : nest.members) {
      if (member->kind != OperationKind::kReduction && member->kind != OperationKind::kScan) continue;
      accumulators[member] = init(*member);
      if (plan_.whole_axis && !member->reduced.empty()) kernel_->accumulators.back().lanes.push_back(scopes_.back().loop.get());
      has_sums |= member->kind == OperationKind::kReduction && sums_floats(kernel_->accumulators[accumulators[member]]);
    }
    const auto [cascade_at, block] = choose_cascade(nest, has_sums);
    for (size_t k = nest.kept_count; k < nest.axes.size(); ++k) {
      open(k, k == cascade_at ? block : 0);
      if (nest.axes[k] == nest.lane_axis) {
        for (auto [member, a] : accumulators) kernel_->accumulators[a].lanes.push_back(scopes_.back().loop.get());
      }
    }
    for (PlannedMember* member : nest.members) emit_member(*member, accumulators);
    for (size_t k = nest.kept_count; k < nest.axes.size(); ++k) close_loop();
    for (PlannedMember* member : nest.members) {
      if (member->kind != OperationKind::kReduction) continue;
      store_results(*member, finish(*member, accumulators[member]), {});
    }
    for (size_t k = 0; k < nest.kept_count; ++k) close_loop();
  }

  void store_results(const PlannedMember& member, const std::vector<KernelValue>& results, const Substitution& indirect) {
    LITZ_CHECK(results.size() >= member.stores.size(), "{}: {} results for {} outputs", member.operation->name, results.size(),
               member.stores.size());
    for (size_t k = 0; k < member.stores.size(); ++k) store(member, member.stores[k], results[k], indirect);
  }

  void emit_member(const PlannedMember& member, const std::unordered_map<const PlannedMember*, int>& accumulators) {
    Substitution indirect;
    std::vector<KernelValue> yields = emit_body(member, indirect);
    if (member.kind == OperationKind::kReduction) {
      update(member, accumulators.at(&member), std::move(yields));
    } else if (member.kind == OperationKind::kScan) {
      update(member, accumulators.at(&member), std::move(yields));
      store_results(member, finish(member, accumulators.at(&member)), indirect);
    } else {
      store_results(member, yields, indirect);
    }
  }

  // ---- range ----

  /// Of an axis inside a tile: the tile's size.
  Expr largest_extent(Expr axis) {
    for (Expr s : free_symbols(axis.extent())) {
      if (s.symbol_kind() == SymbolKind::kAxis) return context().integer(axis.extent().range().upper);
    }
    return axis.extent();
  }

  void set_range() {
    Expr range = context().integer(1);
    Expr per_piece = context().integer(0);
    for (Expr axis : plan_.axes) {
      const bool parallel = std::ranges::find(plan_.serial_axes, axis) == plan_.serial_axes.end();
      const int64_t step = std::max(1, outer_step(axis));
      if (parallel) range = range * ceil_div(axis.extent(), context().integer(step));
    }
    for (const PlannedNest& nest : plan_.nests) {
      double weight = 0;
      for (const PlannedMember* m : nest.members) weight += std::max(1.0, work_of(m->body) / 4);
      Expr work = context().integer(static_cast<int64_t>(weight * (plan_.outer_lane_axis ? plan_.outer_step : 1)));
      for (Expr axis : nest.axes) work = work * largest_extent(axis);
      per_piece = per_piece + work;
    }
    for (Expr axis : plan_.serial_axes) per_piece = per_piece * axis.extent();
    Expr one = context().integer(1);
    kernel_->range = range;
    if (plan_.facts->execution == ExecutionModel::kGridOfBlocks) {
      kernel_->grain = one;  // each piece is a program of the grid
      return;
    }
    kernel_->grain = max(one, floor_div(context().integer(plan_.facts->parallel_grain), max(one, per_piece)));
  }

  KernelPlan& plan_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Scope> scopes_;
  size_t parallel_levels_ = 0;
  std::vector<int> value_level_;
  std::vector<std::pair<int, size_t>> definition_;  // scope level and position; -1: by a finish
  std::unordered_map<Expr, int> level_of_axis_;
  std::unordered_map<Expr, KernelValue> bound_;
  std::unordered_map<KernelValue, Expr> symbol_of_;
  std::unordered_map<const Operation*, int> origin_of_;
  std::vector<bool> written_parameters_, written_scratch_;
};

}  // namespace

std::unique_ptr<Kernel> emit_tree(KernelPlan& plan) { return TreeEmitter(plan).run(); }

}  // namespace litz
