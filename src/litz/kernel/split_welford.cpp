// split_welford: the mean and the sum of squared deviations of a row that stays in cache are faster in two passes of plain sums
// (and no less accurate: the sums are cascaded) than in one pass with a division per step.
//
//   welford r { yield f(r) }  ->  sum r { yield f(r) } -> s;  { yield s / n } -> mean;  sum r { d = f(r) - mean; yield d * d } -> m2
//
// Where a block keeps the row, f(r) is scaled by the power of two below 1/n, which rounds nothing: a row of huge numbers has a mean though
// the sum is no number.
#include <algorithm>
#include <bit>

#include "litz/kernel/kernel_plan.h"
#include "litz/kernel/work.h"

namespace litz {
namespace {

constexpr double kCheapWork = 8;  // a body that is worth running twice

Expr count_of(const PlannedMember& member, ExprContext& context) {
  Expr count = context.integer(1);
  for (Expr axis : member.reduced) count = count * axis.extent();
  return count;
}

bool is_worth_two_passes(const KernelPlan& plan, const PlannedMember& member) {
  if (member.kind != OperationKind::kReduction || member.reduction != ReductionKind::kWelford) return false;
  if (member.reduced.empty()) return false;
  if (plan.facts->execution == ExecutionModel::kGridOfBlocks) return member.kept.empty();  // the block keeps the row
  if (work_of(member.body) > kCheapWork || has_checks(member.body)) return false;
  int64_t bytes = 0;
  for (const Instr& instr : member.body.instrs)
    if (instr.op == Op::kLoad) bytes += dtype_bytes(instr.dtype);
  return bytes * estimate(count_of(member, *plan.context)) <= plan.facts->l2_bytes / 2;
}

class WelfordSplitter {
 public:
  WelfordSplitter(KernelPlan& plan, const PlannedMember& member) : plan_(plan), welford_(member) {}

  void append_to(std::vector<PlannedMember>& out) {
    const Memory sum = new_scratch(), mean = new_scratch();
    PlannedMember first = welford_;
    first.reduction = ReductionKind::kSum;
    first.stores = {store_to(sum)};
    if (scale() != 1) {
      const ValueId x = as_accumulated(first, first.body.yields[0]);
      first.body.yields[0] = push(first, Op::kMul, welford_.accumulate, {x, push_constant(first, scale()), kNoValue});
    }
    PlannedMember divide = mean_member(sum, mean);
    PlannedMember second = welford_;
    second.reduction = ReductionKind::kSum;
    second.stores = {welford_.stores.size() > 1 ? welford_.stores[1] : PlannedStore{}};
    add_squared_difference(second, mean);
    out.push_back(std::move(first));
    out.push_back(std::move(divide));
    if (second.stores[0].buffer) out.push_back(std::move(second));
  }

 private:
  Memory new_scratch() {
    KernelScratch scratch;
    scratch.name = "t" + std::to_string(plan_.scratch.size());
    scratch.dtype = welford_.accumulate;
    scratch.elements = plan_.context->integer(1);
    for (Expr axis : welford_.kept) scratch.elements = scratch.elements * axis.extent();
    plan_.temporaries.push_back(std::make_unique<Buffer>());
    Buffer& buffer = *plan_.temporaries.back();
    buffer.name = scratch.name;
    buffer.dtype = scratch.dtype;
    scratch.buffer = &buffer;
    plan_.scratch.push_back(scratch);
    return Memory{true, static_cast<int>(plan_.scratch.size()) - 1};
  }
  Expr position() const {
    std::vector<Expr> sizes;
    for (Expr axis : welford_.kept) sizes.push_back(axis.extent());
    return flatten(*plan_.context, welford_.kept, sizes);
  }
  PlannedStore store_to(Memory memory) const {
    return PlannedStore{plan_.scratch[memory.index].buffer, memory, position(), ScatterMode::kStore};
  }

  static ValueId push(PlannedMember& member, Op op, DType dtype, std::array<ValueId, 3> operands, Memory memory = {}) {
    Instr instr;
    instr.op = op;
    instr.dtype = dtype;
    instr.operands = operands;
    member.body.instrs.push_back(std::move(instr));
    member.loads.push_back(memory);
    return static_cast<ValueId>(member.body.instrs.size()) - 1;
  }
  ValueId push_load(PlannedMember& member, Memory memory) const {
    ValueId v = push(member, Op::kLoad, welford_.accumulate, {kNoValue, kNoValue, kNoValue}, memory);
    member.body.instrs[v].buffer = plan_.scratch[memory.index].buffer;
    member.body.instrs[v].coordinates = {position()};
    return v;
  }

  /// Of the summands.
  double scale() const {
    const Expr n = count_of(welford_, *plan_.context);
    if (plan_.facts->execution != ExecutionModel::kGridOfBlocks || welford_.accumulate != DType::kFloat32 || !n.is_integer() ||
        n.integer() < 1)
      return 1;
    return 1 / static_cast<double>(std::bit_ceil(static_cast<uint64_t>(n.integer())));
  }
  static ValueId push_constant(PlannedMember& member, double value) {
    const ValueId v = push(member, Op::kConstant, DType::kFloat32, {kNoValue, kNoValue, kNoValue});
    member.body.instrs[v].number = Number::of(value);
    return v;
  }
  ValueId as_accumulated(PlannedMember& m, ValueId x) const {
    return m.body.instrs[x].result_dtype() == welford_.accumulate ? x : push(m, Op::kCast, welford_.accumulate, {x, kNoValue, kNoValue});
  }

  PlannedMember mean_member(Memory sum, Memory mean) {
    PlannedMember m;
    m.operation = welford_.operation;
    m.kind = OperationKind::kPointwise;
    m.kept = welford_.kept;
    const DType type = welford_.accumulate;
    ValueId total = push_load(m, sum);
    const Expr n = count_of(welford_, *plan_.context);
    ValueId count;
    if (scale() != 1) {
      count = push_constant(m, scale() * static_cast<double>(n.integer()));
    } else {
      count = push(m, Op::kIndexExpr, type, {kNoValue, kNoValue, kNoValue});
      m.body.instrs[count].expr = n;
    }
    ValueId value = push(m, Op::kDiv, type, {total, count, kNoValue});
    m.stores.push_back(store_to(mean));
    m.body.yields.push_back(value);
    if (!welford_.stores.empty() && welford_.stores[0].buffer) {
      m.stores.push_back(welford_.stores[0]);
      m.body.yields.push_back(value);
    }
    return m;
  }

  void add_squared_difference(PlannedMember& m, Memory mean) {
    const ValueId x = as_accumulated(m, m.body.yields[0]);
    ValueId center = push_load(m, mean);
    ValueId difference = push(m, Op::kSub, welford_.accumulate, {x, center, kNoValue});
    m.body.yields[0] = push(m, Op::kMul, welford_.accumulate, {difference, difference, kNoValue});
  }

  KernelPlan& plan_;
  const PlannedMember& welford_;
};

}  // namespace

void split_welford(KernelPlan& plan) {
  std::vector<PlannedMember> members;
  for (PlannedMember& member : plan.members) {
    if (is_worth_two_passes(plan, member)) WelfordSplitter(plan, member).append_to(members);
    else members.push_back(std::move(member));
  }
  plan.members = std::move(members);
}

}  // namespace litz
