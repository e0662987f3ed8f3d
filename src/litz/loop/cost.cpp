#include "litz/loop/cost.h"

#include "litz/loop/interpret.h"

namespace litz {

bool is_heavy(Op op) {
  switch (op) {
    case Op::kTruncDiv:
    case Op::kFloorDiv:
    case Op::kFmod:
    case Op::kRemainder:
    case Op::kExp:
    case Op::kLog:
    case Op::kSin:
    case Op::kCos:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSigmoid:
    case Op::kPow:
    case Op::kExp2:
    case Op::kExpm1:
    case Op::kLog2:
    case Op::kLog10:
    case Op::kLog1p:
    case Op::kTan:
    case Op::kAsin:
    case Op::kAcos:
    case Op::kAtan:
    case Op::kSinh:
    case Op::kCosh:
    case Op::kAsinh:
    case Op::kAcosh:
    case Op::kAtanh:
    case Op::kErfc:
    case Op::kErfinv:
    case Op::kLgamma:
    case Op::kDigamma:
    case Op::kAtan2:
    case Op::kHypot:
    case Op::kRandomUint: return true;
    default: return false;
  }
}

namespace {

struct Counter : UniformHandler<Counter, int> {
  BodyCost total;
  int count(const Instr& i) {
    ++total.ops;
    if (is_heavy(i.op)) ++total.heavy_ops;
    return 0;
  }
  int constant(const Instr&) { return 0; }
  int index_expr(const Instr&) { return 0; }
  int load(const Instr& i, const int*) {
    ++total.loads;
    for (Expr e : i.coordinates) {
      bool is_indirect = false;
      for (Expr s : free_symbols(e)) is_indirect |= s.symbol_kind() == SymbolKind::kIndirect;
      if (is_indirect) {
        ++total.indirect_loads;
        ++total.heavy_ops;
        break;
      }
    }
    return 0;
  }
  int indirect(const Instr&, int) { return 0; }
  int check_index(const Instr& i, int, const int*) { return count(i); }
  int assert_true(const Instr& i, int) { return count(i); }
  int random_uint(const Instr& i, int, int) { return count(i); }
  int apply(const Instr& i, std::initializer_list<int>) { return count(i); }
};

}  // namespace

BodyCost cost(const Body& body) {
  Counter counter;
  interpret(body, counter);
  return counter.total;
}

}  // namespace litz
