#include "litz/kernel/work.h"

namespace litz {

double work_of(Op op) {
  switch (op) {
    case Op::kConstant:
    case Op::kIndirect:
    case Op::kLoad:
    case Op::kIndexExpr: return 0;
    case Op::kDiv:
    case Op::kSqrt:
    case Op::kReciprocal:
    case Op::kCheckIndex:
    case Op::kAssertTrue: return 4;
    case Op::kRsqrt: return 8;
    case Op::kTruncDiv:
    case Op::kFloorDiv:
    case Op::kFmod:
    case Op::kRemainder: return 16;
    case Op::kExp:
    case Op::kLog:
    case Op::kSigmoid:
    case Op::kExp2:
    case Op::kLog2:
    case Op::kLog10: return 12;
    case Op::kTanh:
    case Op::kErf:
    case Op::kSin:
    case Op::kCos:
    case Op::kExpm1:
    case Op::kLog1p:
    case Op::kErfc: return 20;
    case Op::kRandomUint:
    case Op::kPow:
    case Op::kTan:
    case Op::kAsin:
    case Op::kAcos:
    case Op::kAtan:
    case Op::kSinh:
    case Op::kCosh:
    case Op::kAsinh:
    case Op::kAcosh:
    case Op::kAtanh:
    case Op::kErfinv:
    case Op::kLgamma:
    case Op::kDigamma:
    case Op::kAtan2:
    case Op::kHypot: return 50;
    default: return 1;
  }
}

double work_of(const Body& body) {
  double work = 0;
  for (const Instr& instr : body.instrs) work += work_of(instr.op);
  return work;
}

double work_inside(const Body& body, std::span<const Expr> axes) {
  std::vector<bool> varies(body.instrs.size());
  auto depends = [&](Expr e) {
    for (Expr axis : axes) {
      if (e && depends_on(e, axis)) return true;
    }
    return false;
  };
  double work = 0;
  for (size_t k = 0; k < body.instrs.size(); ++k) {
    const Instr& instr = body.instrs[k];
    bool v = instr.op == Op::kIndexExpr && depends(instr.expr);
    for (Expr c : instr.coordinates) {
      v |= depends(c);
      for (Expr s : free_symbols(c)) v |= s.symbol_kind() == SymbolKind::kIndirect;
    }
    for (ValueId o : instr.operands) v |= o != kNoValue && varies[o];
    varies[k] = v;
    if (v) work += work_of(instr.op);
  }
  return work;
}

}  // namespace litz
