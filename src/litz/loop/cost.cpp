#include "litz/loop/cost.h"

#include "litz/loop/interpret.h"

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

bool is_heavy(Op op) {
  constexpr double kHeavyWork = 12;
  return work_of(op) >= kHeavyWork;
}

bool is_slow(Op op) {
  constexpr double kSlowWork = 20;
  return work_of(op) >= kSlowWork;
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
