#include "litz/symbolic/bytecode.h"

#include <unordered_map>

#include "litz/support/check.h"
#include "litz/symbolic/computed.h"

namespace litz {
namespace {

using Op = ExprProgram::Op;
using Operand = ExprProgram::Operand;
using Space = ExprProgram::Space;

class Compiler {
 public:
  Compiler(ExprProgram& program, std::span<const SymbolSlot> slots) : program_(program) {
    for (const SymbolSlot& slot : slots) memo_.emplace(slot.symbol, ExprProgram::operand(Space::kSymbol, slot.entry));
  }

  Operand compile(Expr e) {
    if (auto found = memo_.find(e); found != memo_.end()) return found->second;
    Operand result = compute(e);
    memo_.emplace(e, result);
    made_.push_back(e);
    return result;
  }

 private:
  Operand compute(Expr e) {
    std::span<const Expr> operands = e.operands();
    switch (e.kind()) {
      case ExprKind::kInteger: return literal(e.integer());
      case ExprKind::kSymbol:
        if (const Definition* definition = definition_of(e)) return compile_definition(*definition);
        LITZ_CHECK(false, "symbol {} of a run-time expression has no entry", e.symbol_name());
      case ExprKind::kAdd: return fold(Op::kAdd, operands);
      case ExprKind::kMul: return fold(Op::kMul, operands);
      case ExprKind::kFloorDiv: return fold(Op::kFloorDiv, operands);
      case ExprKind::kMod: return fold(Op::kMod, operands);
      case ExprKind::kMin: return fold(Op::kMin, operands);
      case ExprKind::kMax: return fold(Op::kMax, operands);
      case ExprKind::kEq: return fold(Op::kEq, operands);
      case ExprKind::kNe: return fold(Op::kNe, operands);
      case ExprKind::kLt: return fold(Op::kLt, operands);
      case ExprKind::kLe: return fold(Op::kLe, operands);
      case ExprKind::kAnd: return fold(Op::kAnd, operands);
      case ExprKind::kOr: return fold(Op::kOr, operands);
      case ExprKind::kNot: {
        Operand a = compile(operands[0]);
        return emit(Op::kNot, a, a);
      }
      case ExprKind::kSelect: return compile_select(operands);
    }
    LITZ_CHECK(false, "no code for {}", to_string(e));
  }

  Operand compile_definition(const Definition& definition) {
    std::vector<Operand> made;
    for (const Definition::Step& step : definition.steps) {
      switch (step.kind) {
        case Definition::Step::kExpr: made.push_back(step.expr.is_integer() ? literal(step.expr.integer()) : compile(step.expr)); break;
        case Definition::Step::kFloat: made.push_back(literal(word_of_float(step.number))); break;
        case Definition::Step::kFunction:
          made.push_back(emit(ExprProgram::op_of(step.function), made[step.operands[0]], made[step.operands[1]]));
      }
    }
    return made.back();
  }

  Operand compile_select(std::span<const Expr> operands) {
    Operand condition = compile(operands[0]);
    uint32_t result = program_.register_count++;
    size_t skip = step(Op::kJumpIfZero, 0, condition, condition);
    branch(operands[1], result);
    size_t leave = step(Op::kJump, 0, condition, condition);
    program_.code[skip].target = uint32_t(program_.code.size());
    branch(operands[2], result);
    program_.code[leave].target = uint32_t(program_.code.size());
    return ExprProgram::operand(Space::kRegister, result);
  }

  // What is computed inside a branch is not there when the other is taken: it is forgotten afterwards.
  void branch(Expr e, uint32_t result) {
    size_t before = made_.size();
    Operand value = compile(e);
    step(Op::kCopy, result, value, value);
    for (; made_.size() > before; made_.pop_back()) memo_.erase(made_.back());
  }

  Operand fold(Op op, std::span<const Expr> operands) {
    Operand result = compile(operands[0]);
    for (Expr operand : operands.subspan(1)) {
      Operand right = compile(operand);
      result = emit(op, result, right);
    }
    return result;
  }

  Operand literal(int64_t value) {
    program_.literals.push_back(value);
    return ExprProgram::operand(Space::kLiteral, uint32_t(program_.literals.size() - 1));
  }

  size_t step(Op op, uint32_t target, Operand a, Operand b) {
    program_.code.push_back({op, target, a, b});
    return program_.code.size() - 1;
  }

  Operand emit(Op op, Operand a, Operand b) {
    uint32_t target = program_.register_count++;
    step(op, target, a, b);
    return ExprProgram::operand(Space::kRegister, target);
  }

  ExprProgram& program_;
  std::unordered_map<Expr, Operand> memo_;
  std::vector<Expr> made_;
};

}  // namespace

ExprProgram compile_exprs(std::span<const Expr> outputs, std::span<const SymbolSlot> slots, std::span<const uint32_t> targets) {
  LITZ_CHECK(targets.empty() || targets.size() == outputs.size(), "{} targets for {} outputs", targets.size(), outputs.size());
  ExprProgram program;
  Compiler compiler(program, slots);
  for (size_t i = 0; i < outputs.size(); ++i) {
    uint32_t target = targets.empty() ? uint32_t(i) : targets[i];
    if (outputs[i].is_integer()) program.constants.push_back({target, outputs[i].integer()});
    else program.outputs.push_back({target, compiler.compile(outputs[i])});
  }
  return program;
}

ExprProgram compile_exprs(std::span<const Expr> outputs, std::span<const Expr> symbols) {
  std::vector<SymbolSlot> slots;
  for (Expr symbol : symbols) slots.push_back({symbol, uint32_t(slots.size())});
  return compile_exprs(outputs, slots);
}

}  // namespace litz
