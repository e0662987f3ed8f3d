// What must hold of kernel IR when build_kernel is done; a violation is a bug of ours.
#include <unordered_set>

#include "litz/kernel/kernel.h"
#include "litz/kernel/legalize_numerics.h"
#include "litz/support/check.h"

namespace litz {
namespace {

class KernelVerifier {
 public:
  explicit KernelVerifier(const Kernel& kernel) : kernel_(kernel), defined_(kernel.values.size()), open_(kernel.accumulators.size()) {
    for (const KernelParameter& p : kernel.parameters) {
      if (p.kind == KernelParameter::kNumber) symbols_.insert(p.number);
      else LITZ_CHECK(p.buffer, "{}: parameter {} has no buffer", kernel.name, p.name);
    }
  }

  void run() {
    walk(kernel_.body, true);
    check_known(kernel_.range, false);
    check_known(kernel_.grain, false);
    for (const KernelScratch& s : kernel_.scratch) check_known(s.elements);
  }

 private:
  // Parameters are numbers that statements use; range and grain may use more of the call's symbols.
  void check_known(Expr expr, bool is_inside = true) const {
    if (!expr) return;
    for (Expr s : free_symbols(expr)) {
      const bool is_number = s.symbol_kind() == SymbolKind::kSize || s.symbol_kind() == SymbolKind::kUnbacked;
      LITZ_CHECK(symbols_.contains(s) || (!is_inside && is_number), "{}: {} uses {}, which is not known there", kernel_.name,
                 to_string(expr), s.symbol_name());
    }
  }

  void use(KernelValue v) const {
    LITZ_CHECK(v == kNoKernelValue || (v >= 0 && v < static_cast<KernelValue>(defined_.size()) && defined_[v]),
               "{}: v{} is used before it is defined or outside its body", kernel_.name, v);
  }

  void define(KernelValue v, std::vector<KernelValue>& here) {
    LITZ_CHECK(v >= 0 && v < static_cast<KernelValue>(defined_.size()) && !defined_[v], "{}: v{} is defined twice", kernel_.name, v);
    defined_[v] = true;
    here.push_back(v);
  }

  void check_numerics(const KernelStatement& s) const {
    if (s.kind != KernelOp::kCompute || compute_type(s.instr.dtype) == s.instr.dtype) return;
    const bool allowed = s.instr.op == Op::kCast || s.instr.op == Op::kCastKept || s.instr.op == Op::kBitcast;
    LITZ_CHECK(allowed, "{}: {} is computed in {}", kernel_.name, op_text(s.instr.op), dtype_name(s.instr.dtype));
  }

  void check_memory(const KernelStatement& s) const {
    const size_t count = s.memory.is_scratch ? kernel_.scratch.size() : kernel_.parameters.size();
    LITZ_CHECK(s.memory.index >= 0 && s.memory.index < static_cast<int>(count) && s.offset, "{}: an access without memory", kernel_.name);
    if (s.memory.is_scratch) return;
    const KernelParameter::Kind kind = kernel_.parameters[s.memory.index].kind;
    const bool fits = s.kind == KernelOp::kLoad ? kind == KernelParameter::kInput || kind == KernelParameter::kInOut
                                                : kind == KernelParameter::kOutput || kind == KernelParameter::kInOut;
    LITZ_CHECK(fits, "{}: {} of parameter {} of another kind", kernel_.name, kernel_op_name(s.kind),
               kernel_.parameters[s.memory.index].name);
  }

  void walk(const std::vector<KernelStatement>& body, bool parallel_allowed) {
    std::vector<KernelValue> here;
    std::vector<Expr> bound;
    for (const KernelStatement& s : body) {
      for (KernelValue v : s.operands) use(v);
      check_known(s.offset);
      if (s.kind != KernelOp::kCompute || s.instr.op != Op::kIndirect) check_known(s.instr.expr);
      check_numerics(s);
      switch (s.kind) {
        case KernelOp::kLoop: {
          const KernelLoop& loop = *s.loop;
          check_known(loop.extent);
          LITZ_CHECK(!loop.is_parallel || parallel_allowed, "{}: parallel loop {} inside a serial one", kernel_.name, to_string(loop.axis));
          LITZ_CHECK(!loop.is_parallel || &s == &body.back() || &body == &kernel_.body, "{}: statements behind parallel loop {}",
                     kernel_.name, to_string(loop.axis));
          symbols_.insert(loop.axis);
          if (loop.lane) symbols_.insert(loop.lane);
          walk(loop.body, loop.is_parallel);
          symbols_.erase(loop.axis);
          if (loop.lane) symbols_.erase(loop.lane);
          break;
        }
        case KernelOp::kInit: open_[s.accumulator] = true; break;
        case KernelOp::kUpdate: {
          const Accumulator& a = kernel_.accumulators[s.accumulator];
          LITZ_CHECK(open_[s.accumulator], "{}: {} is updated before its init", kernel_.name, a.name);
          LITZ_CHECK(static_cast<int>(s.operands.size()) == accumulator_inputs(a), "{}: {} takes {} values, found {}", kernel_.name, a.name,
                     accumulator_inputs(a), s.operands.size());
          LITZ_CHECK(kernel_.values[s.operands[0]].dtype == a.dtype, "{}: {} of {} is updated with {}", kernel_.name, a.name,
                     dtype_name(a.dtype), dtype_name(kernel_.values[s.operands[0]].dtype));
          break;
        }
        case KernelOp::kFinish:
          LITZ_CHECK(open_[s.accumulator], "{}: {} is finished before its init", kernel_.name, kernel_.accumulators[s.accumulator].name);
          for (int k = 0; k < accumulator_outputs(kernel_.accumulators[s.accumulator]); ++k) define(s.result + k, here);
          break;
        case KernelOp::kLoad:
        case KernelOp::kStore: check_memory(s); break;
        case KernelOp::kCompute:
          if (s.instr.op == Op::kIndirect) {
            symbols_.insert(s.instr.expr);
            bound.push_back(s.instr.expr);
          }
          break;
      }
      if (s.result != kNoKernelValue && s.kind != KernelOp::kFinish) define(s.result, here);
    }
    for (KernelValue v : here) defined_[v] = false;
    for (Expr s : bound) symbols_.erase(s);
  }

  const Kernel& kernel_;
  std::vector<bool> defined_, open_;
  std::unordered_set<Expr> symbols_;
};

}  // namespace

void verify(const Kernel& kernel) { KernelVerifier(kernel).run(); }

}  // namespace litz
