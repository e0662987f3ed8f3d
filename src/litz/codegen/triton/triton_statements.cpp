// One statement of kernel IR as Triton source.
#include <algorithm>
#include <cmath>

#include "litz/codegen/triton/triton_names.h"
#include "litz/codegen/triton/triton_writer.h"
#include "litz/support/check.h"

namespace litz {

void TritonWriter::add(Loops& to, const Loops& from) {
  for (const KernelLoop* loop : from) {
    if (std::ranges::find(to, loop) == to.end()) to.push_back(loop);
  }
}

TritonWriter::Loops TritonWriter::loops_of(Expr expr) const {
  Loops loops;
  for (Expr s : free_symbols(expr)) {
    if (auto lane = lane_axis_.find(s); lane != lane_axis_.end()) add(loops, {lane->second});
    else if (auto bound = bound_.find(s); bound != bound_.end()) add(loops, kernel_.values[bound->second].varies);
  }
  return loops;
}

std::string TritonWriter::mask_of(const Loops& loops, KernelValue predicate) const {
  std::string mask;
  for (const KernelLoop* loop : loops) {
    if (is_multiple(loop->extent, loop->step.integer())) continue;
    mask += fmt::format("{}{}_in", mask.empty() ? "" : " & ", names_.at(loop));
  }
  if (predicate != kNoKernelValue) mask += (mask.empty() ? "" : " & ") + operand(predicate);
  return mask;
}

std::string TritonWriter::pointer(Memory memory) const {
  int in = 0, out = 0;
  for (int k = 0; k < memory.index; ++k) {
    if (kernel_.parameters[k].kind == KernelParameter::kInput) ++in;
    else ++out;
  }
  return kernel_.parameters[memory.index].kind == KernelParameter::kInput ? fmt::format("in{}", in) : fmt::format("out{}", out);
}

std::string TritonWriter::address(Memory memory, Expr offset, const Loops& loops) const {
  std::string text = index_.text(offset);
  const Loops own = loops_of(offset);
  for (const KernelLoop* loop : loops) {
    if (std::ranges::find(own, loop) == own.end()) text += fmt::format(" + {} * 0", names_.at(loop));
  }
  if (loops.empty() && own.empty() && rank_ >= 1) {
    std::string ones;
    for (int d = 0; d < rank_; ++d) ones += d ? ", 1" : "1";
    text = fmt::format("tl.full([{}], {}, {})", ones, text, is_wide_ ? "tl.int64" : "tl.int32");
  }
  return fmt::format("{} + {}", pointer(memory), text.find(' ') == std::string::npos ? text : "(" + text + ")");
}

void TritonWriter::define(KernelValue v, const std::string& expression) {
  value_text_[v] = fmt::format("v{}", next_value_++);
  line("{} = {}", value_text_[v], expression);
}

std::string TritonWriter::operand(KernelValue v, bool bare) const {
  const KernelStatement* constant = constant_[v];
  if (!constant) return value_text_[v];
  const DType dtype = kernel_.values[v].dtype;
  return bare && dtype == DType::kFloat32 ? python_literal(constant->instr.number, dtype) : typed_literal(constant->instr.number, dtype);
}

void TritonWriter::write_statement(const KernelStatement& s) {
  if (s.origin >= 0 && s.origin != cited_ && !(s.kind == KernelOp::kCompute && s.instr.op == Op::kConstant)) {
    cited_ = s.origin;
    line("# {}", python_comment(kernel_.origins[s.origin].name));
  }
  switch (s.kind) {
#define LITZ_KERNEL_OP(name, Enumerator, meaning) \
  case KernelOp::k##Enumerator: return write_##name(s);
#include "litz/kernel/ops.def"
#undef LITZ_KERNEL_OP
  }
}

void TritonWriter::write_load(const KernelStatement& s) {
  if (is_dirty_[s.memory.index]) {
    line("tl.debug_barrier()  # other threads of the block wrote what is read here");
    is_dirty_.assign(is_dirty_.size(), false);
  }
  const KernelValue predicate = s.operands.empty() ? kNoKernelValue : s.operands[0];
  Loops loops = loops_of(s.offset);
  if (predicate != kNoKernelValue) add(loops, kernel_.values[predicate].varies);
  std::string text = address(s.memory, s.offset, predicate == kNoKernelValue ? loops_of(s.offset) : loops);
  if (loops.empty()) text = fmt::format("{} + {}", pointer(s.memory), index_.text(s.offset));
  const std::string mask = mask_of(loops, predicate);
  if (!mask.empty()) text += fmt::format(", mask={}, other={}", mask, python_literal(s.instr.number, s.instr.dtype));
  define(s.result, fmt::format("tl.load({})", text));
}

void TritonWriter::write_store(const KernelStatement& s) {
  const KernelValue value = s.operands[0];
  Loops loops = loops_of(s.offset);
  if (s.is_scatter) add(loops, open_lanes_);  // an element for each iteration, not for each place
  const std::string place = address(s.memory, s.offset, loops);
  std::string mask = mask_of(loops, s.operands.size() > 1 ? s.operands[1] : kNoKernelValue);
  if (!mask.empty()) mask = ", mask=" + mask;
  const char* atomic = s.mode == ScatterMode::kAdd   ? "atomic_add"
                       : s.mode == ScatterMode::kMin ? "atomic_min"
                       : s.mode == ScatterMode::kMax ? "atomic_max"
                                                     : nullptr;
  if (atomic) {
    line("tl.{}({}, {}{}, sem=\"relaxed\")", atomic, place, operand(value), mask);
  } else if (s.mode == ScatterMode::kMul) {
    line("tl.store({0}, tl.load({0}{2}) * {1}{2})", place, operand(value), mask);
    line("tl.debug_barrier()  # the next iteration may meet the same element");
  } else if (auto descriptor = descriptors_.find(&s); descriptor != descriptors_.end()) {
    line("if ALIGNED:");
    line("    {}.store([y_start, {}], {})", descriptor->second.name, piece_start(), operand(value));
    line("else:");
    line("    tl.store({}, {}{})", place, operand(value), mask);
  } else {
    line("tl.store({}, {}{})", place, operand(value), mask);
  }
  is_dirty_[s.memory.index] = true;
}

// ---- values ----

void TritonWriter::write_compute(const KernelStatement& s) {
  if (is_unused_[s.result]) return;
  switch (s.instr.op) {
    case Op::kConstant: constant_[s.result] = &s; return;
    case Op::kIndirect: {
      const KernelValue v = s.operands[0];
      value_text_[s.result] = operand(v);
      bound_[s.instr.expr] = v;
      if (is_wide_) {
        index_.bind(s.instr.expr, operand(v));
      } else {
        const std::string name = fmt::format("j{}", next_value_++);
        line("{} = tl.cast({}, tl.int32)", name, operand(v));
        index_.bind(s.instr.expr, name);
      }
      return;
    }
    case Op::kAssertTrue: {
      const std::string wanted = mask_of(kernel_.values[s.operands[0]].varies);
      line("lt.assert_true({}, {}, {}, error)", operand(s.operands[0]), 16 + next_assertion_++, wanted.empty() ? "True" : wanted);
      return;
    }
    default: define(s.result, compute_text(s));
  }
}

std::string TritonWriter::cast_text(const KernelStatement& s) const {
  const KernelValue from = s.operands[0];
  const DType source = kernel_.values[from].dtype, target = s.instr.dtype;
  const std::string text = operand(from);
  if (target == DType::kBool) return fmt::format("{} != 0", text);
  const bool shrinks = is_floating(source) && !is_floating(target) && dtype_bytes(target) < 4;
  return fmt::format("{}{}.to({})", text, shrinks ? ".to(tl.int64)" : "", triton_type(target));
}

/// Which of two zeros is meant needs no look where one operand is a number that no zero equals, or a zero that a tie may give.
std::string TritonWriter::extremum_text(const KernelStatement& s, bool is_maximum) const {
  KernelValue a = s.operands[0], b = s.operands[1];
  if (constant_[a]) std::swap(a, b);
  bool plain = false;
  if (constant_[b]) {
    const double number = constant_[b]->instr.number.as_double();
    plain = number != 0 || std::signbit(number) != is_maximum;
  }
  const char* name = plain ? (is_maximum ? "greatest" : "least") : (is_maximum ? "maximum" : "minimum");
  return fmt::format("lt.{}({}, {})", name, operand(a), operand(b));
}

std::string TritonWriter::quotient_text(const KernelStatement& s) const {
  const KernelValue a = s.operands[0], b = s.operands[1];
  if (!is_coarse_ || kernel_.values[b].dtype != DType::kFloat32) return fmt::format("lt.div({}, {})", operand(a), operand(b));
  const double divisor = constant_[b] ? constant_[b]->instr.number.as_double() : 0;
  const double factor = 1 / divisor;
  if (divisor != 0 && std::isfinite(divisor) && std::fabs(factor) > 1e-30 && std::fabs(factor) < 1e30)
    return fmt::format("{} * {}", operand(a), python_literal(Number::of(factor), DType::kFloat32));
  return fmt::format("{} / {}", operand(a), operand(b));
}

std::string TritonWriter::compute_text(const KernelStatement& s) const {
  const KernelValue last = s.operands.empty() ? kNoKernelValue : s.operands.back();
  const DType dtype = last == kNoKernelValue ? s.instr.dtype : kernel_.values[last].dtype;
  const bool is_bool = dtype == DType::kBool;
  auto at = [&](int k) { return operand(s.operands[k]); };
  auto infix = [&](const char* symbol) {
    // Two bare literals would meet as Python numbers.
    const bool both = constant_[s.operands[0]] && constant_[s.operands[1]];
    return fmt::format("{} {} {}", operand(s.operands[0], !both), symbol, operand(s.operands[1], !both));
  };
  auto call = [&](const char* name) {
    std::string text = fmt::format("{}(", name);
    for (size_t k = 0; k < s.operands.size(); ++k) text += (k ? ", " : "") + at(static_cast<int>(k));
    return text + ")";
  };
  auto truth = [&](int k) { return kernel_.values[s.operands[k]].dtype == DType::kBool ? at(k) : fmt::format("({} != 0)", at(k)); };
  if (auto sum = plus_one_.find(s.result); sum != plus_one_.end())
    return fmt::format("lt.coarse_{}_plus_one({})", op_text(sum->second->instr.op), operand(sum->second->operands[0]));
  switch (s.instr.op) {
    case Op::kCast:
    case Op::kCastKept: return cast_text(s);
    case Op::kBitcast: return fmt::format("{}.to({}, bitcast=True)", at(0), triton_type(s.instr.dtype));
    case Op::kIndexExpr: return fmt::format("tl.cast({}, {})", index_.text(s.instr.expr), triton_type(s.instr.dtype));
    case Op::kCheckIndex: {
      // Lanes outside the loops hold anything and must not report it.
      const std::string wanted = mask_of(kernel_.values[s.operands[0]].varies, s.operands.size() < 2 ? kNoKernelValue : s.operands[1]);
      return fmt::format("lt.check_index({}, {}, {}, error)", at(0), index_.text(s.instr.expr),
                         wanted.empty() ? "tl.full([], True, tl.int1)" : wanted);
    }
    case Op::kAdd: return infix(is_bool ? "|" : "+");
    case Op::kSub: return infix(is_bool ? "^" : "-");
    case Op::kMul: return infix(is_bool ? "&" : "*");
    case Op::kFma: return call("tl.fma");
    case Op::kAbs: return dtype_category(dtype) == DTypeCategory::kUnsigned || is_bool ? at(0) : call("tl.abs");
    case Op::kMinimum: return is_bool ? infix("&") : extremum_text(s, false);
    case Op::kMaximum: return is_bool ? infix("|") : extremum_text(s, true);
    case Op::kEq: return infix("==");
    case Op::kNe: return infix("!=");
    case Op::kLt: return infix("<");
    case Op::kLe: return infix("<=");
    case Op::kGt: return infix(">");
    case Op::kGe: return infix(">=");
    case Op::kLogicalAnd: return fmt::format("{} & {}", truth(0), truth(1));
    case Op::kLogicalOr: return fmt::format("{} | {}", truth(0), truth(1));
    case Op::kLogicalXor: return fmt::format("{} ^ {}", truth(0), truth(1));
    case Op::kLogicalNot: return fmt::format("{} == 0", at(0));
    case Op::kBitwiseAnd: return infix("&");
    case Op::kBitwiseOr: return infix("|");
    case Op::kBitwiseXor: return infix("^");
    case Op::kBitwiseNot: return is_bool ? fmt::format("{} == 0", at(0)) : fmt::format("~{}", at(0));
    case Op::kShiftLeft: return fmt::format("lt.shift_left({}, {}, {})", at(0), at(1), dtype_bytes(dtype) * 8);
    case Op::kShiftRight: return fmt::format("lt.shift_right({}, {}, {})", at(0), at(1), dtype_bytes(dtype) * 8);
    case Op::kDiv: return quotient_text(s);
    case Op::kReciprocal: return is_coarse_ && dtype == DType::kFloat32 ? fmt::format("1.0 / {}", at(0)) : call("lt.reciprocal");
    case Op::kTanh: return call(is_coarse_ && dtype == DType::kFloat32 ? "lt.coarse_tanh" : "lt.tanh");
    case Op::kSigmoid: return call(is_coarse_ && dtype == DType::kFloat32 ? "lt.coarse_sigmoid" : "lt.sigmoid");
    case Op::kWhere: return call("tl.where");
    case Op::kCeil: return is_floating(dtype) ? call("tl.ceil") : at(0);
    case Op::kFloor: return is_floating(dtype) ? call("tl.floor") : at(0);
    case Op::kExp: return call("tl.exp");
    case Op::kExp2: return call("tl.exp2");
    case Op::kLog: return call("tl.log");
    case Op::kSin: return call("tl.sin");
    case Op::kCos: return call("tl.cos");
    case Op::kErf: return call(is_coarse_ && dtype == DType::kFloat32 ? "lt.coarse_erf" : "tl.erf");
    default: return call(fmt::format("lt.{}", op_text(s.instr.op)).c_str());  // under its own name in triton_ops.py
  }
}

}  // namespace litz
