#include "litz/kernel/work.h"

namespace litz {

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
