// split_at_conditions: a loop whose body asks on which side of a fixed number its axis stands becomes a loop for each side, in
// which the answer is known: no masks, and only the loads of that side. Concatenations, padding and slices written into are such.
//
//   for i in 0..64 step 8              for i in 0..32 step 8           for i in 0..32 step 8
//     v1 = index_expr i < 32             v2 = load a[i]                  v3 = load b[i]
//     v2 = load a[i] if v1         ->    store out[i] = v2               store out[i + 32] = v3
//     v3 = load b[i - 32] if not v1
//     store out[i] = where v1 v2 v3
#include <algorithm>
#include <unordered_map>

#include "litz/kernel/kernel_plan.h"
#include "litz/kernel/legalize_numerics.h"
#include "litz/kernel/tree_passes.h"

namespace litz {
namespace {

constexpr size_t kMostPieces = 4;
constexpr size_t kMostStatements = 160;   // of all pieces together
constexpr double kMostIterations = 1.25;  // of the loop's own: short pieces leave lanes idle
constexpr int64_t kLeastRange = 64;       // iterations of the parallel loops that are left: every thread still has some

using Loops = std::vector<std::unique_ptr<KernelLoop>>;

int64_t iterations(const KernelLoop& loop) { return estimate(ceil_div(loop.extent, loop.step)); }

/// Where `axis` in [0, extent) changes the truth of a comparison inside `condition`: a number or an expression of sizes that lies
/// strictly inside the loop for all sizes. Null if nowhere.
Expr boundary_in(Expr condition, const KernelLoop& loop) {
  const bool compares = condition.kind() == ExprKind::kLt || condition.kind() == ExprKind::kLe;
  if (!compares) {
    for (Expr part : condition.operands()) {
      if (Expr found = boundary_in(part, loop)) return found;
    }
    return Expr();
  }
  const std::array axes{loop.axis};
  const auto form = linear_form(condition.operands()[0] - condition.operands()[1], axes);
  if (!form || !form->coefficients[0].is_integer()) return Expr();
  const int64_t coefficient = form->coefficients[0].integer();
  const bool strict = condition.kind() == ExprKind::kLt;
  Expr at;  // axis + rest < 0 until axis = -rest; rest - axis < 0 from axis = rest + 1 on
  if (coefficient == 1) at = strict ? -form->rest : form->rest * -1 + 1;
  else if (coefficient == -1) at = strict ? form->rest + 1 : form->rest;
  else return Expr();
  const bool is_fixed = std::ranges::all_of(free_symbols(at), [](Expr s) { return s.symbol_kind() == SymbolKind::kSize; });
  return is_fixed && provably_nonnegative(at - 1) && provably_nonnegative(loop.extent - at - 1) ? at : Expr();
}

Expr boundary_of(const KernelLoop& loop) {
  for (const KernelStatement& s : loop.body) {
    if (s.kind != KernelOp::kCompute || s.instr.op != Op::kIndexExpr || s.instr.dtype != DType::kBool) continue;
    if (Expr at = boundary_in(s.instr.expr, loop)) return at;
  }
  return Expr();
}

/// A loop over part of another's values, with what is known there folded.
class Piece {
 public:
  Piece(Kernel& kernel, const KernelLoop& whole, Expr begin, Expr extent) : kernel_(kernel), whole_(whole) {
    ExprContext& context = extent.context();
    loop_ = std::make_unique<KernelLoop>();
    loop_->axis = context.axis(whole.axis.symbol_name(), extent);
    loop_->extent = extent;
    loop_->step = whole.step;
    loop_->has_lanes = whole.has_lanes;
    map_.emplace_back(whole.axis, loop_->axis + begin);
    if (whole.lane) {
      loop_->lane = context.axis("lane", whole.step);
      map_.emplace_back(whole.lane, loop_->lane);
    }
  }

  std::unique_ptr<KernelLoop> run() {
    for (const KernelStatement& s : whole_.body) add(s);
    return std::move(loop_);
  }

 private:
  KernelValue value(KernelValue old) const {
    const auto found = renamed_.find(old);
    return found == renamed_.end() ? old : found->second;  // of an outer loop
  }
  std::optional<bool> truth(KernelValue old) const {
    const auto found = known_.find(old);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

  void add(const KernelStatement& s) {
    KernelStatement made;
    made.kind = s.kind;
    made.instr = s.instr;
    made.memory = s.memory;
    made.mode = s.mode;
    made.is_scatter = s.is_scatter;
    made.origin = s.origin;
    if (s.offset) made.offset = substitute(s.offset, map_);
    if (s.kind == KernelOp::kCompute && s.instr.expr) made.instr.expr = substitute(s.instr.expr, map_);
    for (KernelValue v : s.operands) made.operands.push_back(v == kNoKernelValue ? v : value(v));
    if (s.kind == KernelOp::kCompute && folds(s, made)) return;
    if (s.kind == KernelOp::kLoad && !s.operands.empty() && s.operands[0] != kNoKernelValue) take_predicate(s, made);
    if (s.result != kNoKernelValue) {
      made.result = static_cast<KernelValue>(kernel_.values.size());
      kernel_.values.push_back(kernel_.values[s.result]);
      renamed_[s.result] = made.result;
    }
    loop_->body.push_back(std::move(made));
  }

  /// Whether the statement is another value here. A truth value that became known is still made: something may want the value.
  bool folds(const KernelStatement& s, KernelStatement& made) {
    switch (s.instr.op) {
      case Op::kIndexExpr:
        if (s.instr.dtype == DType::kBool && made.instr.expr.is_integer()) become_constant(s, made, made.instr.expr.integer() != 0);
        return false;
      case Op::kLogicalNot:
        if (auto a = truth(s.operands[0])) become_constant(s, made, !*a);
        return false;
      case Op::kLogicalAnd:
      case Op::kLogicalOr: {
        const bool decides = s.instr.op == Op::kLogicalOr;  // true or x is true, false and x is false
        for (int k : {0, 1}) {
          const auto a = truth(s.operands[k]);
          if (!a) continue;
          if (*a == decides) {
            become_constant(s, made, decides);
            return false;
          }
          return stands_for(s, s.operands[1 - k]);
        }
        return false;
      }
      case Op::kWhere:
        if (auto a = truth(s.operands[0])) return stands_for(s, s.operands[*a ? 1 : 2]);
        return false;
      default: return false;
    }
  }

  bool stands_for(const KernelStatement& s, KernelValue old) {
    renamed_[s.result] = value(old);
    if (auto a = truth(old)) known_[s.result] = *a;
    return true;
  }

  void become_constant(const KernelStatement& s, KernelStatement& made, bool known) {
    known_[s.result] = known;
    made.instr = Instr();
    made.instr.op = Op::kConstant;
    made.instr.dtype = DType::kBool;
    made.instr.number = Number::of(static_cast<int64_t>(known));
    made.operands.clear();
  }

  void take_predicate(const KernelStatement& s, KernelStatement& made) {
    const auto known = truth(s.operands[0]);
    if (!known) return;
    if (*known) {
      made.operands.clear();
      return;
    }
    if (compute_type(s.instr.dtype) != s.instr.dtype) return;  // nothing computes in it: loads of no lane give the value
    Instr other;
    other.op = Op::kConstant;
    other.dtype = s.instr.dtype;
    other.number = s.instr.number;
    made.kind = KernelOp::kCompute;
    made.instr = other;
    made.operands.clear();
    made.memory = Memory();
    made.offset = Expr();
  }

  Kernel& kernel_;
  const KernelLoop& whole_;
  Substitution map_;
  std::unordered_map<KernelValue, KernelValue> renamed_;
  std::unordered_map<KernelValue, bool> known_;
  std::unique_ptr<KernelLoop> loop_;
};

class Splitter {
 public:
  explicit Splitter(Kernel& kernel) : kernel_(kernel) {}
  void run() { walk(kernel_.body, false); }

 private:
  static bool is_plain(const KernelLoop& loop) {
    return !loop.is_whole && loop.cascade == 0 && loop.step.is_integer() && std::ranges::all_of(loop.body, [](const KernelStatement& s) {
      switch (s.kind) {
        case KernelOp::kCompute: return s.instr.op != Op::kIndirect && s.instr.op != Op::kCheckIndex && s.instr.op != Op::kAssertTrue;
        case KernelOp::kLoad:
        case KernelOp::kStore: return true;
        default: return false;
      }
    });
  }

  void walk(std::vector<KernelStatement>& body, bool inside_parallel) {
    std::vector<KernelStatement> made;
    for (KernelStatement& s : body) {
      if (s.kind != KernelOp::kLoop) {
        made.push_back(std::move(s));
        continue;
      }
      Loops pieces = pieces_of(*s.loop, inside_parallel);
      if (pieces.size() < 2) {
        walk(s.loop->body, s.loop->is_parallel);
        made.push_back(std::move(s));
        continue;
      }
      if (s.loop->is_parallel) leave_range(*s.loop);
      for (auto& piece : pieces) {
        KernelStatement statement;
        statement.kind = KernelOp::kLoop;
        statement.loop = std::move(piece);
        made.push_back(std::move(statement));
      }
    }
    body = std::move(made);
  }

  Loops pieces_of(const KernelLoop& loop, bool inside_parallel) {
    Loops done;
    if (!is_plain(loop)) return done;
    if (loop.is_parallel && !(inside_parallel && estimate(kernel_.range) / std::max<int64_t>(1, iterations(loop)) >= kLeastRange))
      return done;
    if (!boundary_of(loop)) return done;
    Loops open;
    open.push_back(Piece(kernel_, loop, loop.extent.context().integer(0), loop.extent).run());
    while (!open.empty()) {
      std::unique_ptr<KernelLoop> piece = std::move(open.back());
      open.pop_back();
      const Expr at = done.size() + open.size() + 1 < kMostPieces ? boundary_of(*piece) : Expr();
      if (!at) {
        done.push_back(std::move(piece));
        continue;
      }
      open.push_back(Piece(kernel_, *piece, at, piece->extent - at).run());
      open.push_back(Piece(kernel_, *piece, at.context().integer(0), at).run());
    }
    int64_t trips = 0;
    size_t statements = 0;
    for (const auto& piece : done) {
      trips += iterations(*piece);
      statements += piece->body.size();
    }
    const bool pays =
        static_cast<double>(trips) <= kMostIterations * static_cast<double>(iterations(loop)) && statements <= kMostStatements;
    if (!pays) done.clear();
    return done;
  }

  /// The loop no longer counts among the parallel ones: each piece of work does all of it.
  void leave_range(const KernelLoop& loop) {
    const Expr own = ceil_div(loop.extent, loop.step);
    kernel_.range = floor_div(kernel_.range, own);
    kernel_.grain = ceil_div(kernel_.grain, own);
  }

  Kernel& kernel_;
};

}  // namespace

void split_at_conditions(Kernel& kernel) { Splitter(kernel).run(); }

}  // namespace litz
