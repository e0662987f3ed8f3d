#include "litz/kernel/tree_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "litz/support/check.h"

namespace litz {

bool same_but_for_operands(const KernelStatement& a, const KernelStatement& b) {
  return a.kind == b.kind && a.instr.op == b.instr.op && a.instr.dtype == b.instr.dtype && a.instr.number == b.instr.number &&
         a.instr.expr == b.instr.expr && a.instr.buffer == b.instr.buffer && a.memory == b.memory && a.offset == b.offset &&
         a.instr.message == b.instr.message;
}

void for_each_statement(std::span<const KernelStatement> body, const std::function<void(const KernelStatement&)>& visit) {
  for (const KernelStatement& statement : body) {
    visit(statement);
    if (statement.kind == KernelOp::kLoop) for_each_statement(statement.loop->body, visit);
  }
}

int lane_depth(std::span<const KernelStatement> body) {
  int depth = 0;
  for (const KernelStatement& s : body)
    if (s.kind == KernelOp::kLoop) depth = std::max(depth, (s.loop->has_lanes ? 1 : 0) + lane_depth(s.loop->body));
  return depth;
}

namespace {

class DeadRemover {
 public:
  explicit DeadRemover(Kernel& kernel) : kernel_(kernel), used_(kernel.values.size()), loaded_(kernel.scratch.size()) {}

  void run() {
    sweep(kernel_.body);
    std::vector<int> renumbered(kernel_.scratch.size(), -1);
    std::vector<KernelScratch> kept;
    for (size_t k = 0; k < kernel_.scratch.size(); ++k) {
      if (!loaded_[k]) continue;
      renumbered[k] = static_cast<int>(kept.size());
      kept.push_back(kernel_.scratch[k]);
    }
    kernel_.scratch = std::move(kept);
    renumber(kernel_.body, renumbered);
    if (dropped_parallel_loop_) kernel_.range = pieces_of(kernel_.body);
  }

 private:
  /// The iterations of the parallel loops that are left.
  Expr pieces_of(const std::vector<KernelStatement>& body) const {
    for (const KernelStatement& s : body)
      if (s.kind == KernelOp::kLoop && s.loop->is_parallel) return ceil_div(s.loop->extent, s.loop->step) * pieces_of(s.loop->body);
    return kernel_.range.context().integer(1);
  }

  void use(Expr expr) {
    if (!expr) return;
    for (Expr s : free_symbols(expr)) {
      if (s.symbol_kind() == SymbolKind::kIndirect) symbols_.insert(s);
    }
  }

  bool is_live(const KernelStatement& s) const {
    switch (s.kind) {
      case KernelOp::kLoop: return !s.loop->body.empty() || s.loop->is_parallel;  // a parallel loop is part of the range
      case KernelOp::kStore: return !s.memory.is_scratch || loaded_[s.memory.index];
      case KernelOp::kInit:
      case KernelOp::kUpdate:
      case KernelOp::kFinish: return true;
      case KernelOp::kCompute:
        if (s.instr.op == Op::kCheckIndex || s.instr.op == Op::kAssertTrue) return true;
        if (s.instr.op == Op::kIndirect) return symbols_.contains(s.instr.expr);
        return used_[s.result];
      case KernelOp::kLoad: return used_[s.result];
    }
    return true;
  }

  // Uses come after definitions, so one sweep from the end sees every use first.
  void sweep(std::vector<KernelStatement>& body) {
    std::vector<KernelStatement> kept;
    for (size_t k = body.size(); k-- > 0;) {
      KernelStatement& s = body[k];
      if (s.kind == KernelOp::kLoop) sweep(s.loop->body);
      if (!is_live(s)) {
        dropped_parallel_loop_ |= s.kind == KernelOp::kLoop && s.loop->is_parallel;
        continue;
      }
      for (KernelValue v : s.operands) {
        if (v != kNoKernelValue) used_[v] = true;
      }
      use(s.offset);
      if (s.instr.op != Op::kIndirect) use(s.instr.expr);
      if (s.kind == KernelOp::kLoad && s.memory.is_scratch) loaded_[s.memory.index] = true;
      kept.push_back(std::move(s));
    }
    std::ranges::reverse(kept);
    body = std::move(kept);
  }

  void renumber(std::vector<KernelStatement>& body, const std::vector<int>& renumbered) {
    for (KernelStatement& s : body) {
      if (s.kind == KernelOp::kLoop) renumber(s.loop->body, renumbered);
      const bool accesses = s.kind == KernelOp::kLoad || s.kind == KernelOp::kStore;
      if (accesses && s.memory.is_scratch) s.memory.index = renumbered[s.memory.index];
    }
  }

  Kernel& kernel_;
  bool dropped_parallel_loop_ = false;
  std::vector<bool> used_, loaded_;
  std::unordered_set<Expr> symbols_;
};

class LaneAnnotator {
 public:
  explicit LaneAnnotator(Kernel& kernel) : kernel_(kernel) {}
  void run() { walk(kernel_.body); }

 private:
  using Loops = std::vector<const KernelLoop*>;

  static void add(Loops& to, const Loops& from) {
    for (const KernelLoop* loop : from) {
      if (std::ranges::find(to, loop) == to.end()) to.push_back(loop);
    }
  }
  void add(Loops& to, Expr expr) {
    if (!expr) return;
    for (Expr s : free_symbols(expr)) {
      if (auto bound = bound_.find(s); bound != bound_.end()) add(to, kernel_.values[bound->second].varies);
      for (const KernelLoop* loop : open_) {
        if (loop->has_lanes && (loop->axis == s || loop->lane == s) && std::ranges::find(to, loop) == to.end()) to.push_back(loop);
      }
    }
  }

  void walk(std::vector<KernelStatement>& body) {
    for (KernelStatement& s : body) {
      if (s.kind == KernelOp::kLoop) {
        open_.push_back(s.loop.get());
        walk(s.loop->body);
        open_.pop_back();
        continue;
      }
      Loops varies;
      for (KernelValue v : s.operands) {
        if (v != kNoKernelValue) add(varies, kernel_.values[v].varies);
      }
      add(varies, s.offset);
      add(varies, s.instr.op == Op::kIndirect ? Expr() : s.instr.expr);
      if (s.kind == KernelOp::kUpdate) add(accumulator_varies_[s.accumulator], varies);
      if (s.result == kNoKernelValue) continue;
      if (s.kind == KernelOp::kCompute && s.instr.op == Op::kIndirect) bound_[s.instr.expr] = s.result;
      if (s.kind == KernelOp::kFinish) {
        const Accumulator& a = kernel_.accumulators[s.accumulator];
        for (const KernelLoop* loop : accumulator_varies_[s.accumulator]) {
          if (a.is_scan || std::ranges::find(a.lanes, loop) == a.lanes.end()) varies.push_back(loop);
        }
        for (int k = 0; k < accumulator_outputs(a); ++k) kernel_.values[s.result + k].varies = varies;
      } else {
        kernel_.values[s.result].varies = varies;
      }
    }
  }

  Kernel& kernel_;
  Loops open_;
  std::unordered_map<Expr, KernelValue> bound_;
  std::unordered_map<int, Loops> accumulator_varies_;
};

}  // namespace

void remove_dead(Kernel& kernel) { DeadRemover(kernel).run(); }

void number_values(Kernel& kernel) {
  std::vector<KernelValue> number(kernel.values.size(), kNoKernelValue);
  std::vector<KernelValueInfo> values;
  std::function<void(std::vector<KernelStatement>&)> walk = [&](std::vector<KernelStatement>& body) {
    for (KernelStatement& s : body) {
      for (KernelValue& v : s.operands) {
        if (v != kNoKernelValue) v = number[v];
      }
      if (s.result != kNoKernelValue) {
        const int count = s.kind == KernelOp::kFinish ? accumulator_outputs(kernel.accumulators[s.accumulator]) : 1;
        for (int k = 0; k < count; ++k) {
          number[s.result + k] = static_cast<KernelValue>(values.size());
          values.push_back(kernel.values[s.result + k]);
        }
        s.result = number[s.result];
      }
      if (s.kind == KernelOp::kLoop) walk(s.loop->body);
    }
  };
  walk(kernel.body);
  kernel.values = std::move(values);
}

void annotate_lanes(Kernel& kernel) { LaneAnnotator(kernel).run(); }

std::vector<bool> nonzero_constants(const Kernel& kernel) {
  std::vector<bool> nonzero(kernel.values.size());
  for_each_statement(kernel.body, [&](const KernelStatement& s) {
    if (s.kind == KernelOp::kCompute && s.instr.op == Op::kConstant) nonzero[s.result] = s.instr.number.as_double() != 0;
  });
  return nonzero;
}

bool can_fail(const KernelStatement& s, const std::vector<bool>& nonzero) {
  if (s.kind != KernelOp::kCompute) return false;
  if (s.instr.op == Op::kCheckIndex || s.instr.op == Op::kAssertTrue) return true;
  return is_division(s.instr.op) && !is_floating(s.instr.dtype) && !nonzero[s.operands[1]];
}

void list_assertions(Kernel& kernel) {
  kernel.assertions.clear();
  kernel.reports_errors = false;
  const std::vector<bool> nonzero = nonzero_constants(kernel);
  for_each_statement(kernel.body, [&](const KernelStatement& s) {
    kernel.reports_errors |= can_fail(s, nonzero);
    if (s.kind == KernelOp::kCompute && s.instr.op == Op::kAssertTrue) kernel.assertions.push_back(s.instr.message);
  });
}

void narrow_indices(Kernel& kernel) {
  kernel.narrow_indices = true;
  for_each_statement(kernel.body, [&](const KernelStatement& s) {
    if (!s.offset) return;
    ValueRange range = s.offset.range();
    if (range.lower < std::numeric_limits<int32_t>::min() || range.upper > std::numeric_limits<int32_t>::max())
      kernel.narrow_indices = false;
  });
}

void drop_unused_parameters(Kernel& kernel) {
  std::unordered_set<Expr> numbers;
  std::vector<bool> used(kernel.parameters.size()), read(kernel.parameters.size()), written(kernel.parameters.size());
  auto need = [&](Expr expr) {
    if (!expr) return;
    for (Expr s : free_symbols(expr)) numbers.insert(s);
  };
  for_each_statement(kernel.body, [&](const KernelStatement& s) {
    const bool accesses = s.kind == KernelOp::kLoad || s.kind == KernelOp::kStore;
    if (accesses && !s.memory.is_scratch) {
      used[s.memory.index] = true;
      // A scatter leaves elements as they are, which is reading them.
      if (s.kind == KernelOp::kLoad || s.is_scatter) read[s.memory.index] = true;
      if (s.kind == KernelOp::kStore) written[s.memory.index] = true;
    }
    need(s.offset);
    need(s.instr.expr);
    if (s.kind == KernelOp::kLoop) need(s.loop->extent);
  });
  for (const KernelScratch& scratch : kernel.scratch) need(scratch.elements);
  std::vector<int> renumbered(kernel.parameters.size(), -1);
  std::vector<KernelParameter> kept;
  for (size_t k = 0; k < kernel.parameters.size(); ++k) {
    const KernelParameter& p = kernel.parameters[k];
    if (p.kind == KernelParameter::kNumber ? !(p.number.is_symbol() && numbers.contains(p.number)) : !used[k]) continue;
    renumbered[k] = static_cast<int>(kept.size());
    kept.push_back(p);
    if (p.kind == KernelParameter::kNumber) continue;
    kept.back().kind = !written[k] ? KernelParameter::kInput : read[k] ? KernelParameter::kInOut : KernelParameter::kOutput;
  }
  kernel.parameters = std::move(kept);
  const bool has_numbers = !kernel.parameters.empty() && kernel.parameters.back().kind == KernelParameter::kNumber;
  int count = 0;
  for (Expr number : has_numbers ? computed_numbers(kernel) : std::vector<Expr>()) {
    KernelParameter p;
    p.kind = KernelParameter::kNumber;
    p.name = fmt::format("ps{}", count++);
    p.dtype = DType::kInt64;
    p.number = number;
    kernel.parameters.push_back(std::move(p));
  }
  std::function<void(std::vector<KernelStatement>&)> renumber = [&](std::vector<KernelStatement>& body) {
    for (KernelStatement& s : body) {
      if (s.kind == KernelOp::kLoop) renumber(s.loop->body);
      const bool accesses = s.kind == KernelOp::kLoad || s.kind == KernelOp::kStore;
      if (accesses && !s.memory.is_scratch) s.memory.index = renumbered[s.memory.index];
    }
  };
  renumber(kernel.body);
}

}  // namespace litz
