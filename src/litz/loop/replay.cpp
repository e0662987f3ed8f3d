#include "litz/loop/replay.h"

namespace litz {
namespace {

/// Division of integers: by what a guarded load gives where the guard fails, it would raise although nobody asks for the quotient.
bool may_trap(const Instr& i) { return is_division(i.op) && !is_floating(i.dtype); }

}  // namespace

std::vector<ValueId> Replay::run(const Body& body, ValueId guard) {
  std::vector<ValueId> values;
  values.reserve(body.instrs.size());
  auto guarded = [&](ValueId predicate) {
    if (guard == kNoValue) return predicate;
    return predicate == kNoValue ? guard : builder_.logical_and(guard, predicate);
  };
  for (const Instr& instr : body.instrs) {
    auto at = [&](int k) { return instr.operands[k] == kNoValue ? kNoValue : values[instr.operands[k]]; };
    switch (instr.op) {
      case Op::kConstant: values.push_back(builder_.constant(instr.dtype, instr.number)); break;
      case Op::kIndexExpr: values.push_back(builder_.index_expr(rewrite(instr.expr), instr.dtype)); break;
      case Op::kLoad: {
        std::vector<Expr> coordinates = map_.empty() ? instr.coordinates : substitute(instr.coordinates, map_);
        const ValueId predicate = guarded(at(0));
        std::optional<ValueId> answer;
        if (on_load_) answer = on_load_(instr, coordinates, predicate);
        values.push_back(answer ? *answer : builder_.load(instr.buffer, std::move(coordinates), predicate));
        break;
      }
      case Op::kIndirect: {
        const Expr symbol = builder_.indirect(at(0), rewrite(instr.expr.extent()));
        map_.emplace_back(instr.expr, symbol);
        values.push_back(at(0));
        break;
      }
      case Op::kCheckIndex: values.push_back(builder_.check_index(at(0), rewrite(instr.expr), guarded(at(1)), instr.message)); break;
      case Op::kAssertTrue: {
        const ValueId condition = at(0);
        builder_.assert_true(guard == kNoValue ? condition : builder_.logical_or(builder_.logical_not(guard), condition), instr.message);
        values.push_back(condition);
        break;
      }
      case Op::kRandomUint: values.push_back(builder_.random_uint(at(0), at(1))); break;
      case Op::kCast: values.push_back(builder_.cast(at(0), instr.dtype, false)); break;
      case Op::kCastKept: values.push_back(builder_.cast(at(0), instr.dtype, true)); break;
      case Op::kBitcast: values.push_back(builder_.bitcast(at(0), instr.dtype)); break;
      default: {
        std::vector<ValueId> operands;
        for (int k = 0; k < op_operands(instr.op); ++k) operands.push_back(at(k));
        if (guard != kNoValue && may_trap(instr))
          operands[1] = builder_.where(guard, operands[1], builder_.constant(instr.dtype, Number::of(int64_t{1})));
        values.push_back(builder_.op(instr.op, operands));
      }
    }
  }
  return values;
}

}  // namespace litz
