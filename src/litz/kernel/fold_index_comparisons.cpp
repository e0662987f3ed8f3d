// fold_index_comparisons: a comparison of two index expressions is an index expression itself, of truth values. What ranges decide
// vanishes, and the rest is compared in the narrowest type that holds it.
//
//   v0 = index_expr i0 - 1; v1 = constant 0; v2 = ge v0 v1; v3 = lt v0 s0; v4 = and v2 v3   ->   v4 = index_expr i0 >= 1 and i0 < s0 + 1
#include "litz/kernel/kernel_plan.h"

namespace litz {
namespace {

/// What an integer or truth value is as an expression; null where it is none.
class IndexFolder {
 public:
  explicit IndexFolder(ExprContext& context) : context_(context) {}

  void run(Body& body) {
    known_.assign(body.instrs.size(), Expr());
    for (size_t k = 0; k < body.instrs.size(); ++k) {
      Instr& instr = body.instrs[k];
      known_[k] = value_of(instr);
      const bool folds = known_[k] && instr.op != Op::kConstant && instr.op != Op::kIndexExpr;
      if (folds) replace(instr, known_[k]);
    }
  }

 private:
  void replace(Instr& instr, Expr value) {
    Instr folded;
    folded.dtype = DType::kBool;
    if (value.is_integer()) {
      folded.op = Op::kConstant;
      folded.number = Number::of(value.integer());
    } else {
      folded.op = Op::kIndexExpr;
      folded.expr = value;
    }
    instr = std::move(folded);
  }

  Expr value_of(const Instr& instr) {
    auto at = [&](int k) { return instr.operands[k] == kNoValue ? Expr() : known_[instr.operands[k]]; };
    const bool is_integer = instr.dtype == DType::kInt64 || instr.dtype == DType::kInt32;
    const bool is_truth = instr.dtype == DType::kBool;
    switch (instr.op) {
      case Op::kConstant: return (is_integer || is_truth) && !instr.number.is_float ? context_.integer(instr.number.integer) : Expr();
      case Op::kIndexExpr: return is_integer || is_truth ? instr.expr : Expr();
      case Op::kEq: return is_integer && at(0) && at(1) ? eq(at(0), at(1)) : Expr();
      case Op::kNe: return is_integer && at(0) && at(1) ? ne(at(0), at(1)) : Expr();
      case Op::kLt: return is_integer && at(0) && at(1) ? lt(at(0), at(1)) : Expr();
      case Op::kLe: return is_integer && at(0) && at(1) ? le(at(0), at(1)) : Expr();
      case Op::kGt: return is_integer && at(0) && at(1) ? lt(at(1), at(0)) : Expr();
      case Op::kGe: return is_integer && at(0) && at(1) ? le(at(1), at(0)) : Expr();
      case Op::kLogicalAnd: return is_truth && at(0) && at(1) ? logical_and(at(0), at(1)) : Expr();
      case Op::kLogicalOr: return is_truth && at(0) && at(1) ? logical_or(at(0), at(1)) : Expr();
      case Op::kLogicalNot: return is_truth && at(0) ? logical_not(at(0)) : Expr();
      default: return Expr();
    }
  }

  ExprContext& context_;
  std::vector<Expr> known_;
};

}  // namespace

void fold_index_comparisons(KernelPlan& plan) {
  for (PlannedMember& member : plan.members) IndexFolder(*plan.context).run(member.body);
}

}  // namespace litz
