#include "litz/support/expr_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "litz/support/integer_math.h"

namespace litz {
namespace {

using Op = ExprProgram::Op;

// Overflow and division by zero: false when checked, wrapped and 0 when not.
template <bool kChecked>
bool compute(Op op, int64_t a, int64_t b, int64_t& result) {
  switch (op) {
    case Op::kCopy: result = a; return true;
    case Op::kAdd: return !__builtin_add_overflow(a, b, &result) || !kChecked;
    case Op::kMul: return !__builtin_mul_overflow(a, b, &result) || !kChecked;
    case Op::kFloorDiv:
      if (b == 0) [[unlikely]] {
        result = 0;
        return !kChecked;
      }
      if (kChecked && b == -1 && a == std::numeric_limits<int64_t>::min()) return false;
      result = floor_div_int(a, b);
      return true;
    case Op::kMod:
      if (b == 0) [[unlikely]] {
        result = 0;
        return !kChecked;
      }
      result = mod_int(a, b);
      return true;
    case Op::kMin: result = std::min(a, b); return true;
    case Op::kMax: result = std::max(a, b); return true;
    case Op::kEq: result = a == b; return true;
    case Op::kNe: result = a != b; return true;
    case Op::kLt: result = a < b; return true;
    case Op::kLe: result = a <= b; return true;
    case Op::kAnd: result = (a != 0) & (b != 0); return true;
    case Op::kOr: result = (a != 0) | (b != 0); return true;
    case Op::kNot: result = a == 0; return true;
    case Op::kJumpIfZero:
    case Op::kJump: return true;
    case Op::kFirstFunction: break;
  }
  return apply(ExprProgram::function_of(op), a, b, &result) || !kChecked;
}

template <bool kChecked>
bool run(const ExprProgram& program, const int64_t* symbols, int64_t* out) {
  constexpr uint32_t kOnStack = 128;
  int64_t stack[kOnStack];
  std::unique_ptr<int64_t[]> heap;
  int64_t* registers = stack;
  if (program.register_count > kOnStack) {
    heap = std::make_unique_for_overwrite<int64_t[]>(program.register_count);
    registers = heap.get();
  }
  const int64_t* spaces[] = {symbols, registers, program.literals.data()};
  auto value = [&](ExprProgram::Operand operand) { return spaces[operand >> 30][ExprProgram::index_of(operand)]; };
  const ExprProgram::Step* code = program.code.data();
  for (size_t at = 0, end = program.code.size(); at < end;) {
    const ExprProgram::Step& step = code[at++];
    if (step.op == Op::kJump) {
      at = step.target;
    } else if (step.op == Op::kJumpIfZero) {
      if (value(step.a) == 0) at = step.target;
    } else if (!compute<kChecked>(step.op, value(step.a), value(step.b), registers[step.target])) {
      return false;
    }
  }
  for (const ExprProgram::Output& output : program.outputs) out[output.target] = value(output.value);
  return true;
}

}  // namespace

void initialise(const ExprProgram& program, int64_t* out) {
  for (auto [target, value] : program.constants) out[target] = value;
}

void evaluate(const ExprProgram& program, const int64_t* symbols, int64_t* out) { run<false>(program, symbols, out); }

bool evaluate_checked(const ExprProgram& program, const int64_t* symbols, int64_t* out) { return run<true>(program, symbols, out); }

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
