#pragma once
// Integer expressions compiled to a flat register program, for the run time: no expression, context or name is left. A
// register is a word of 64 bits; the functions of floats (number_functions.h) take it for the bits of a double.
// Made by compile_exprs (symbolic/bytecode.h). Plain data: it can be written to a package.
//
// Use: initialise(program, out) once, which stores the outputs that are constants; then evaluate(program, symbols, out)
// for each tuple of symbols, which stores the others and costs nothing for constants. `symbols` and `out` may be the
// same array, so a later program can read entries that an earlier one (or an op) wrote; it must not write an entry that
// it reads.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "litz/support/number_functions.h"

namespace litz {

struct ExprProgram {
  enum class Op : uint8_t {
    kCopy,  // target = a
    kAdd,
    kMul,
    kFloorDiv,  // 0 when b is 0; evaluate_checked reports it
    kMod,
    kMin,
    kMax,
    kEq,
    kNe,
    kLt,
    kLe,
    kAnd,
    kOr,
    kNot,            // target = !a
    kJumpIfZero,     // to step `target` if a is 0
    kJump,           // to step `target`
    kFirstFunction,  // from here on target = function(a, b), in the order of number_functions.def
  };
  static constexpr Op op_of(NumberFunction function) { return Op(uint8_t(Op::kFirstFunction) + uint8_t(function)); }
  static constexpr NumberFunction function_of(Op op) { return NumberFunction(uint8_t(op) - uint8_t(Op::kFirstFunction)); }

  /// Where an operand lies: the two highest bits of its number choose the array.
  enum class Space : uint32_t { kSymbol = 0, kRegister = 1, kLiteral = 2 };
  using Operand = uint32_t;
  static constexpr Operand operand(Space space, uint32_t index) { return (uint32_t(space) << 30) | index; }
  static constexpr Space space_of(Operand operand) { return Space(operand >> 30); }
  static constexpr uint32_t index_of(Operand operand) { return operand & 0x3fffffffu; }

  struct Step {
    Op op;
    uint32_t target;  // a register; for jumps a step
    Operand a, b;
  };
  struct Output {
    uint32_t target;  // entry of `out`
    Operand value;
  };

  std::vector<Step> code;
  std::vector<Output> outputs;
  std::vector<int64_t> literals;
  std::vector<std::pair<uint32_t, int64_t>> constants;  // entry of `out`, value
  uint32_t register_count = 0;
};

/// Stores the outputs that are constants.
void initialise(const ExprProgram& program, int64_t* out);

/// Stores the other outputs. Steps may leave 64 bits: then all is computed once more in 510. False where an output does not fit 64 bits,
/// or follows from a step that leaves 510 or from a power or shift that leaves 64: such an output is 0.
[[nodiscard]] bool evaluate(const ExprProgram& program, const int64_t* symbols, int64_t* out);

/// The same; false also where an output follows from a division by zero or a function that was asked for what it does not have.
[[nodiscard]] bool evaluate_checked(const ExprProgram& program, const int64_t* symbols, int64_t* out);

/// One line a step: "r3 = r1 * 768".
std::string to_text(const ExprProgram& program);

}  // namespace litz
