#include "litz/support/expr_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "litz/support/integer_math.h"

namespace litz {
namespace {

using Op = ExprProgram::Op;
using Space = ExprProgram::Space;

/// A register: `known` is false where the value could not be computed.
struct Wide {
  WideInt value = 0;
  bool known = true;
};

/// False where the bits of Int are left or, if strict, the divisor is 0 (which gives 0 otherwise).
template <typename Int>
bool combine(Op op, const Int& a, const Int& b, bool is_strict, Int& result) {
  switch (op) {
    case Op::kAdd: return add_int(a, b, result);
    case Op::kMul: return mul_int(a, b, result);
    case Op::kFloorDiv:
    case Op::kMod:
      if (b == 0) {
        result = 0;
        return !is_strict;
      }
      result = op == Op::kMod ? mod_int(a, b) : floor_div_int(a, b);
      return op == Op::kMod || b != -1 || a != std::numeric_limits<int64_t>::min();
    case Op::kMin: result = std::min(a, b); return true;
    case Op::kMax: result = std::max(a, b); return true;
    case Op::kEq: result = a == b; return true;
    case Op::kNe: result = a != b; return true;
    case Op::kLt: result = a < b; return true;
    case Op::kLe: result = a <= b; return true;
    case Op::kAnd: result = (a != 0) & (b != 0); return true;
    case Op::kOr: result = (a != 0) | (b != 0); return true;
    case Op::kNot: result = a == 0; return true;
    default: result = a; return true;  // a copy
  }
}

/// Whether a function that refuses its operands leaves 64 bits; others give what IEEE gives.
bool must_fit(NumberFunction function) { return info(function).result == 'i' && info(function).operands == "ii"; }

bool compute(Op op, int64_t a, int64_t b, bool is_strict, int64_t& result) {
  if (op < Op::kFirstFunction) return combine(op, a, b, is_strict, result);
  const NumberFunction function = ExprProgram::function_of(op);
  return apply(function, a, b, &result) || !(is_strict || must_fit(function));
}

bool compute(Op op, const Wide& a, const Wide& b, bool is_strict, Wide& result) {
  result = {};
  if (!a.known || !b.known) return false;
  if (op < Op::kFirstFunction) return combine(op, a.value, b.value, is_strict, result.value);
  int64_t word = 0;
  if (!fits_int64(a.value) || !fits_int64(b.value)) return false;
  const bool is_computed = compute(op, static_cast<int64_t>(a.value), static_cast<int64_t>(b.value), is_strict, word);
  result.value = word;
  return is_computed;
}

bool is_zero(int64_t a) { return a == 0; }
bool is_zero(const Wide& a) { return a.value == 0; }
bool is_known(int64_t) { return true; }
bool is_known(const Wide& a) { return a.known; }

bool forget(const ExprProgram& program, int64_t* out) {
  for (const ExprProgram::Output& output : program.outputs) out[output.target] = 0;
  return false;
}

/// False where a step cannot be computed: with words, which may be left for wide registers, nothing is stored then; wide registers
/// carry on, and store what is known.
template <typename Register>
bool run(const ExprProgram& program, const int64_t* symbols, int64_t* out, bool is_strict) {
  constexpr bool kIsWide = std::is_same_v<Register, Wide>;
  constexpr uint32_t kOnStack = kIsWide ? 1 : 128;
  Register stack[kOnStack];
  std::unique_ptr<Register[]> heap;
  Register* registers = stack;
  if (program.register_count > kOnStack) {
    heap = std::make_unique<Register[]>(program.register_count);
    registers = heap.get();
  }
  auto value = [&](ExprProgram::Operand operand) -> Register {
    const uint32_t index = ExprProgram::index_of(operand);
    switch (ExprProgram::space_of(operand)) {
      case Space::kSymbol: return Register{symbols[index]};
      case Space::kLiteral: return Register{program.literals[index]};
      case Space::kRegister: break;
    }
    return registers[index];
  };
  const ExprProgram::Step* code = program.code.data();
  for (size_t at = 0, end = program.code.size(); at < end;) {
    const ExprProgram::Step& step = code[at++];
    if (step.op == Op::kJump) {
      at = step.target;
    } else if (step.op == Op::kJumpIfZero) {
      const Register condition = value(step.a);
      if (!is_known(condition)) return forget(program, out);  // which way is left open
      if (is_zero(condition)) at = step.target;
    } else if (!compute(step.op, value(step.a), value(step.b), is_strict, registers[step.target])) {
      if constexpr (kIsWide) registers[step.target].known = false;
      else return false;
    }
  }
  bool all_fit = true;
  for (const ExprProgram::Output& output : program.outputs) {
    const Register result = value(output.value);
    if constexpr (kIsWide) {
      const bool fits = result.known && fits_int64(result.value);
      out[output.target] = fits ? static_cast<int64_t>(result.value) : 0;
      all_fit &= fits;
    } else {
      out[output.target] = result;
    }
  }
  return all_fit;
}

bool run_as_wide_as_needed(const ExprProgram& program, const int64_t* symbols, int64_t* out, bool is_strict) {
  return run<int64_t>(program, symbols, out, is_strict) || run<Wide>(program, symbols, out, is_strict);
}

}  // namespace

void initialise(const ExprProgram& program, int64_t* out) {
  for (auto [target, value] : program.constants) out[target] = value;
}

bool evaluate(const ExprProgram& program, const int64_t* symbols, int64_t* out) {
  return run_as_wide_as_needed(program, symbols, out, false);
}

bool evaluate_checked(const ExprProgram& program, const int64_t* symbols, int64_t* out) {
  return run_as_wide_as_needed(program, symbols, out, true);
}

std::string to_text(const ExprProgram& program) {
  auto name = [&](ExprProgram::Operand operand) -> std::string {
    uint32_t index = ExprProgram::index_of(operand);
    switch (ExprProgram::space_of(operand)) {
      case ExprProgram::Space::kSymbol: return fmt::format("symbol[{}]", index);
      case ExprProgram::Space::kRegister: return fmt::format("r{}", index);
      case ExprProgram::Space::kLiteral: return fmt::format("{}", program.literals[index]);
    }
    return {};
  };
  constexpr const char* kNames[] = {"", "+", "*", "//", "%", "min", "max", "==", "!=", "<", "<=", "and", "or", "not"};
  std::string text;
  auto line = std::back_inserter(text);
  for (auto [target, value] : program.constants) fmt::format_to(line, "out[{}] = {}\n", target, value);
  for (size_t i = 0; i < program.code.size(); ++i) {
    const ExprProgram::Step& step = program.code[i];
    if (step.op == Op::kJump) fmt::format_to(line, "{}: go to {}\n", i, step.target);
    else if (step.op == Op::kJumpIfZero) fmt::format_to(line, "{}: if not {} go to {}\n", i, name(step.a), step.target);
    else if (step.op == Op::kCopy) fmt::format_to(line, "{}: r{} = {}\n", i, step.target, name(step.a));
    else if (step.op == Op::kNot) fmt::format_to(line, "{}: r{} = not {}\n", i, step.target, name(step.a));
    else if (step.op >= Op::kFirstFunction)
      fmt::format_to(line, "{}: r{} = {}({}, {})\n", i, step.target, info(ExprProgram::function_of(step.op)).name, name(step.a),
                     name(step.b));
    else fmt::format_to(line, "{}: r{} = {} {} {}\n", i, step.target, name(step.a), kNames[size_t(step.op)], name(step.b));
  }
  for (const ExprProgram::Output& output : program.outputs) fmt::format_to(line, "out[{}] = {}\n", output.target, name(output.value));
  return text;
}

}  // namespace litz
