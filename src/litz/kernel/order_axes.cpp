// order_axes: which loop has the lanes, how many values an iteration handles, and the order of the loops.
//
// Lanes go where a model of the memory accesses says they cost least: over an outer axis (every value of the kernel then varies
// over the lanes, reductions run serially inside) or over an axis of each nest (reductions keep partial results per lane). The
// other loops are ordered by strides, the smallest innermost.
#include <algorithm>
#include <cmath>
#include <limits>

#include "litz/kernel/kernel_plan.h"
#include "litz/kernel/work.h"

namespace litz {
namespace {

struct Access {
  Expr offset;
  int64_t bytes;
  bool is_store;
  double share = 1;  // of the iterations that do it: a reduction stores after its loops
};

double trips(std::span<const Expr> axes) {
  double n = 1;
  for (Expr axis : axes) n *= static_cast<double>(std::max<int64_t>(1, estimate(axis.extent())));
  return n;
}

std::vector<Access> accesses_of(const PlannedMember& member) {
  const double stored = member.kind == OperationKind::kReduction ? 1 / trips(member.reduced) : 1;
  std::vector<Access> out;
  for (const Instr& instr : member.body.instrs) {
    if (instr.op == Op::kLoad) out.push_back({instr.coordinates[0], dtype_bytes(instr.dtype), false});
  }
  for (const PlannedStore& store : member.stores) {
    if (store.buffer) out.push_back({store.offset, dtype_bytes(store.buffer->dtype), true, stored});
  }
  return out;
}

/// Time of one iteration of `lanes` values of the axis, in units of a vector operation. A null axis: scalar code.
double vector_cost(const PlannedMember& member, Expr axis, int lanes) {
  double cost = 0;
  for (const Access& access : accesses_of(member)) {
    if (!axis) {
      cost += access.share;
      continue;
    }
    Expr c = coefficient_of(access.offset, axis);
    const double weight = access.is_store ? 1.5 * access.share : 1;
    if (!c) cost += 2.0 * lanes * access.share;
    else if (c.is_integer(0)) cost += access.is_store ? lanes * access.share : 0.3;
    else if (c.is_integer(1)) cost += weight;
    else if (c.is_integer() && std::abs(c.integer()) <= 4) cost += weight * 0.7 * lanes;
    else cost += weight * 1.2 * lanes;
  }
  return cost + 0.5 * work_of(member.body);
}

/// Elements an iteration handles on average, when the last one is partial.
double effective_lanes(Expr extent, int step) {
  const double n = static_cast<double>(std::max<int64_t>(1, estimate(extent)));
  return n / std::ceil(n / step);
}

int register_lanes(const KernelPlan& plan, std::span<PlannedMember* const> members) {
  int64_t widest = 1;
  auto see = [&](DType dtype) {
    // Truth values are as wide as float32 in registers.
    widest = std::max<int64_t>(widest, dtype == DType::kBool ? 4 : dtype_bytes(dtype));
  };
  bool only_wide = true, any = false;
  for (const PlannedMember* member : members) {
    for (const Instr& instr : member->body.instrs) {
      if (instr.op == Op::kIndexExpr || instr.op == Op::kConstant || instr.op == Op::kIndirect || instr.op == Op::kCheckIndex) continue;
      see(instr.dtype);
      any = true;
      only_wide &= dtype_bytes(instr.dtype) == 8;
    }
  }
  if (!any) {
    only_wide = true;
    for (const PlannedMember* member : members) {
      for (const PlannedStore& store : member->stores) only_wide &= !store.buffer || dtype_bytes(store.buffer->dtype) == 8;
    }
    widest = only_wide ? 8 : 4;
  }
  if (widest == 8 && !only_wide) widest = 4;
  return static_cast<int>(std::max<int64_t>(2, plan.facts->vector_bytes / widest));
}

/// A function of float64 is a long chain of dependent steps over few lanes: a second register of each value fills the waits.
bool has_float64_function(std::span<PlannedMember* const> members) {
  return std::ranges::any_of(members, [](const PlannedMember* member) {
    return std::ranges::any_of(member->body.instrs, [](const Instr& i) { return i.dtype == DType::kFloat64 && work_of(i.op) >= 12; });
  });
}

/// Registers a value of the loop takes: light bodies and accumulators profit from several vectors in flight.
int choose_step(const KernelPlan& plan, std::span<PlannedMember* const> members, Expr axis, bool has_accumulators) {
  const int lanes = register_lanes(plan, members);
  double work = 0;
  size_t values = 0;
  for (const PlannedMember* member : members) {
    std::vector<Expr> inside = member->kept;
    inside.insert(inside.end(), member->reduced.begin(), member->reduced.end());
    inside.push_back(axis);
    work += work_inside(member->body, inside);
    values += member->body.instrs.size();
  }
  int unroll = has_accumulators ? (work <= 6 ? 4 : 2) : (work <= 8 || has_float64_function(members) ? 2 : 1);
  if (values > 24) unroll = 1;
  int step = lanes * unroll;
  if (auto extent = axis.extent().as_integer()) {
    while (step > lanes && (*extent < step || (*extent % step != 0 && *extent < 8 * step))) step /= 2;
    while (step > 2 && *extent <= step / 2) step /= 2;
  }
  return step;
}

bool has_accumulators(const PlannedNest& nest) { return nest.kept_count < nest.axes.size(); }

struct LocalChoice {
  Expr axis;
  int step = 1;
  double cost = 0;  // of the whole nest, per outer iteration
};

bool is_scan(const PlannedNest& nest) {
  return std::ranges::any_of(nest.members, [](const PlannedMember* m) { return m->kind == OperationKind::kScan; });
}

LocalChoice choose_local(const KernelPlan& plan, const PlannedNest& nest) {
  const double n = trips(nest.axes);
  LocalChoice best;
  for (const PlannedMember* m : nest.members) best.cost += n * vector_cost(*m, Expr(), 1);
  for (size_t k = 0; k < nest.axes.size(); ++k) {
    Expr axis = nest.axes[k];
    if (k >= nest.kept_count && is_scan(nest)) continue;
    const Expr wanted = nest.members.front()->lane_axis;
    if (wanted && wanted != axis) continue;
    const bool reduces = k >= nest.kept_count;
    const int step = choose_step(plan, nest.members, axis, reduces);
    const int lanes = std::min(step, register_lanes(plan, nest.members));
    double cost = reduces ? 8.0 * n / trips(std::span(&axis, 1)) / 4 : 0;  // combining the lanes, each time
    for (const PlannedMember* m : nest.members) cost += n / effective_lanes(axis.extent(), lanes) * vector_cost(*m, axis, lanes);
    if (cost < best.cost || wanted) best = {axis, step, cost};
  }
  return best;
}

double outer_lane_cost(const KernelPlan& plan, Expr axis) {
  double cost = 0;
  for (const PlannedNest& nest : plan.nests) {
    const int lanes = register_lanes(plan, nest.members);
    for (const PlannedMember* m : nest.members) {
      cost += trips(nest.axes) / effective_lanes(axis.extent(), lanes) * vector_cost(*m, axis, lanes);
    }
  }
  return cost;
}

}  // namespace

double stride_score(const KernelPlan& plan, Expr axis) {
  double score = 0;
  for (const PlannedMember& member : plan.members) {
    for (const Access& access : accesses_of(member)) {
      Expr c = coefficient_of(access.offset, axis);
      if (!c) continue;
      const double stride = std::abs(static_cast<double>(estimate(c)));
      score += (access.is_store ? 2.0 : 1.0) * static_cast<double>(access.bytes) * std::log2(1 + stride);
    }
  }
  return score;
}

namespace {

void order(const KernelPlan& plan, std::span<Expr> axes, Expr innermost) {
  auto goes_outside = [&](Expr a, Expr b) {
    if (a == innermost || b == innermost) return b == innermost && a != innermost;
    return stride_score(plan, a) > stride_score(plan, b);
  };
  for (size_t k = 1; k < axes.size(); ++k) {  // few axes; equal ones keep their order
    for (size_t i = k; i > 0 && goes_outside(axes[i], axes[i - 1]); --i) std::swap(axes[i], axes[i - 1]);
  }
}

bool any_accumulators(const KernelPlan& plan) { return std::ranges::any_of(plan.nests, has_accumulators); }

}  // namespace

void order_axes(KernelPlan& plan) {
  std::vector<LocalChoice> local;
  double local_cost = 0;
  for (const PlannedNest& nest : plan.nests) {
    local.push_back(choose_local(plan, nest));
    local_cost += local.back().cost;
  }
  Expr outer;
  double best = local_cost;
  const bool is_tiled = std::ranges::any_of(plan.members, [](const PlannedMember& m) { return bool(m.lane_axis); });
  for (Expr axis : plan.axes) {
    if (is_tiled) break;
    const double cost = outer_lane_cost(plan, axis);
    if (cost < best || (cost == best && !outer)) {
      best = cost;
      outer = axis;
    }
  }
  if (outer) {
    plan.outer_lane_axis = outer;
    std::vector<PlannedMember*> members;
    for (PlannedMember& member : plan.members) members.push_back(&member);
    plan.outer_step = choose_step(plan, members, outer, any_accumulators(plan));
  }
  order(plan, plan.axes, plan.outer_lane_axis);
  std::vector<Expr> serial;
  std::erase_if(plan.axes, [&](Expr a) {
    const bool is_serial = std::ranges::find(plan.serial_axes, a) != plan.serial_axes.end();
    if (is_serial) serial.push_back(a);
    return is_serial;
  });
  plan.axes.insert(plan.axes.end(), serial.begin(), serial.end());
  for (size_t k = 0; k < plan.nests.size(); ++k) {
    PlannedNest& nest = plan.nests[k];
    if (!outer) {
      nest.lane_axis = local[k].axis;
      nest.step = local[k].step;
    }
    std::span<Expr> axes(nest.axes);
    order(plan, axes.subspan(0, nest.kept_count), nest.lane_axis);
    if (!is_scan(nest)) order(plan, axes.subspan(nest.kept_count), nest.lane_axis);
  }
}

}  // namespace litz
