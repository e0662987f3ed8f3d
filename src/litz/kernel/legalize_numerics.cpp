#include "litz/kernel/legalize_numerics.h"

#include "litz/support/check.h"

namespace litz {

DType compute_type(DType dtype) { return opmath_type(dtype); }

namespace {

bool is_narrow(DType dtype) { return compute_type(dtype) != dtype; }

/// Ops whose result is exact in the narrow type when the operands are.
bool is_exact(Op op) {
  switch (op) {
    case Op::kNeg:
    case Op::kAbs:
    case Op::kSign:
    case Op::kMinimum:
    case Op::kMaximum:
    case Op::kFmin:
    case Op::kFmax:
    case Op::kWhere:
    case Op::kRelu:
    case Op::kCopysign:
    case Op::kCeil:
    case Op::kFloor:
    case Op::kTrunc:
    case Op::kRound: return true;
    default: return false;
  }
}

class NumericsLegalizer {
 public:
  NumericsLegalizer(const Body& body, bool strict) : in_(body), strict_(strict) {}

  Body run() {
    for (const Instr& instr : in_.instrs) map_.push_back(rewrite(instr));
    for (ValueId y : in_.yields) out_.yields.push_back(map_[y]);
    return std::move(out_);
  }

 private:
  ValueId push(Instr instr) {
    out_.instrs.push_back(std::move(instr));
    return static_cast<ValueId>(out_.instrs.size()) - 1;
  }
  ValueId cast(ValueId value, DType dtype, Op op = Op::kCast) {
    Instr instr;
    instr.op = op;
    instr.dtype = dtype;
    instr.operands[0] = value;
    return push(std::move(instr));
  }
  ValueId widened(ValueId narrow, DType narrow_type) { return cast(narrow, compute_type(narrow_type)); }
  ValueId rounded(ValueId wide, DType narrow_type, Op op) { return widened(cast(wide, narrow_type, op), narrow_type); }
  DType type_of(ValueId v) const { return out_.instrs[v].result_dtype(); }

  ValueId rewrite_cast(const Instr& instr, ValueId operand) {
    const bool kept = strict_ || instr.op == Op::kCastKept;
    if (!is_narrow(instr.dtype)) { return type_of(operand) == instr.dtype ? operand : cast(operand, instr.dtype, instr.op); }
    if (kept) return rounded(operand, instr.dtype, instr.op);
    return type_of(operand) == compute_type(instr.dtype) ? operand : cast(operand, compute_type(instr.dtype));
  }

  ValueId rewrite_bitcast(const Instr& instr, const Instr& source, ValueId operand) {
    if (is_narrow(source.result_dtype())) operand = cast(operand, source.result_dtype(), Op::kCastKept);
    Instr bits = instr;
    bits.operands[0] = operand;
    ValueId result = push(std::move(bits));
    return is_narrow(instr.dtype) ? widened(result, instr.dtype) : result;
  }

  ValueId rewrite(const Instr& source) {
    Instr instr = source;
    for (ValueId& v : instr.operands) {
      if (v != kNoValue) v = map_[v];
    }
    const bool narrow = is_narrow(source.dtype);
    switch (source.op) {
      case Op::kCast:
      case Op::kCastKept: return rewrite_cast(source, instr.operands[0]);
      case Op::kBitcast: return rewrite_bitcast(source, in_.instrs[source.operands[0]], instr.operands[0]);
      case Op::kLoad: {
        ValueId loaded = push(std::move(instr));
        return narrow ? widened(loaded, source.dtype) : loaded;
      }
      default: break;
    }
    if (!narrow) return push(std::move(instr));
    instr.dtype = compute_type(source.dtype);
    ValueId result = push(std::move(instr));
    if (source.op == Op::kIndexExpr) return rounded(result, source.dtype, Op::kCastKept);
    const bool rounds = strict_ && source.op != Op::kConstant && op_result(source.op) == OpResult::kSame && !is_exact(source.op);
    return rounds ? rounded(result, source.dtype, Op::kCastKept) : result;
  }

  const Body& in_;
  const bool strict_;
  Body out_;
  std::vector<ValueId> map_;
};

}  // namespace

Body legalize_numerics(const Body& body, bool strict) { return NumericsLegalizer(body, strict).run(); }

}  // namespace litz
