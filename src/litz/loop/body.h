#pragma once
// A body: the flat, hash-consed array of typed instructions that a lowering records, and what everything downstream replays.
// Straight-line, in SSA: instruction k's operands are instructions before k. Bodies are plain data.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "litz/support/dtype.h"
#include "litz/symbolic/expr.h"

namespace litz {

struct Buffer;

enum class Op : uint8_t {
#define LITZ_OP(name, Enumerator, ...) k##Enumerator,
#define LITZ_ATTRIBUTE_OP(name, Enumerator, ...) k##Enumerator,
#include "litz/loop/ops.def"
};

std::string_view op_text(Op op);
std::optional<Op> parse_op(std::string_view text);
int op_operands(Op op);
/// Quotient or remainder; of integers it traps where the divisor is zero.
constexpr bool is_division(Op op) { return op == Op::kTruncDiv || op == Op::kFloorDiv || op == Op::kFmod || op == Op::kRemainder; }
enum class OpResult : uint8_t { kSame, kBool, kExplicit };
OpResult op_result(Op op);

/// Index of an instruction in its body; -1 is none (an absent predicate).
using ValueId = int32_t;
constexpr ValueId kNoValue = -1;

/// A constant: integers and bools exactly, floats as double.
struct Number {
  bool is_float = false;
  int64_t integer = 0;
  double real = 0;
  static Number of(int64_t v) { return Number{false, v, 0}; }
  static Number of(double v) { return Number{true, 0, v}; }
  double as_double() const { return is_float ? real : static_cast<double>(integer); }
  friend bool operator==(const Number& a, const Number& b);  // bitwise for floats
};

struct Instr {
  Op op = Op::kConstant;
  DType dtype = DType::kFloat32;  // type of the computation; the result's type is result_dtype()
  std::array<ValueId, 3> operands{kNoValue, kNoValue, kNoValue};
  Number number;                  // kConstant
  Expr expr;                      // kIndexExpr: the value; kIndirect: the symbol; kCheckIndex: the extent
  Buffer* buffer = nullptr;       // kLoad
  std::vector<Expr> coordinates;  // kLoad: one per dimension of the buffer
  std::string message;            // kAssertTrue, kCheckIndex: what eager would say

  DType result_dtype() const { return op_result(op) == OpResult::kBool ? DType::kBool : dtype; }
};

struct Body {
  std::vector<Instr> instrs;
  std::vector<ValueId> yields;  // what the operation stores, reduces or scans
  DType yield_dtype(size_t i) const { return instrs[yields[i]].result_dtype(); }
};

/// Whether it can raise at run time.
bool has_checks(const Body& body);

/// Records a body. Equal instructions are recorded once. Constants are folded only where the result is what the op would compute
/// (see fold in body_builder.cpp); no algebra that is wrong for inf, NaN or -0.
class BodyBuilder {
 public:
  explicit BodyBuilder(ExprContext& context) : context_(context) {}
  ExprContext& context() { return context_; }

  ValueId constant(DType dtype, Number number);
  ValueId constant(DType dtype, double value);  // converted to the type
  ValueId index_expr(Expr expr, DType dtype = DType::kInt64);
  ValueId load(Buffer* buffer, std::vector<Expr> coordinates, ValueId predicate = kNoValue);
  /// A symbol in [0, extent) that equals the value; the caller has checked or wrapped the value.
  Expr indirect(ValueId value, Expr extent);
  ValueId check_index(ValueId value, Expr extent, ValueId predicate = kNoValue, std::string message = {});
  void assert_true(ValueId condition, std::string message);
  ValueId random_uint(ValueId seed, ValueId offset);
  ValueId cast(ValueId value, DType dtype, bool kept = false);  // no instruction if the type is already that and the cast is not kept
  ValueId bitcast(ValueId value, DType dtype);
  ValueId where(ValueId condition, ValueId if_true, ValueId if_false);
  /// Any op of ops.def without attributes; operands must have one type (where: the last two).
  ValueId op(Op op, std::span<const ValueId> operands);
  ValueId op(Op o, std::initializer_list<ValueId> operands) { return op(o, std::span(operands.begin(), operands.size())); }

#define LITZ_OP_1(name, E) \
  ValueId name(ValueId a) { return op(Op::k##E, {a}); }
#define LITZ_OP_2(name, E) \
  ValueId name(ValueId a, ValueId b) { return op(Op::k##E, {a, b}); }
  // clang-format off
  LITZ_OP_2(add, Add) LITZ_OP_2(sub, Sub) LITZ_OP_2(mul, Mul) LITZ_OP_2(div, Div) LITZ_OP_2(minimum, Minimum) LITZ_OP_2(maximum, Maximum)
  LITZ_OP_2(eq, Eq) LITZ_OP_2(ne, Ne) LITZ_OP_2(lt, Lt) LITZ_OP_2(le, Le) LITZ_OP_2(gt, Gt) LITZ_OP_2(ge, Ge)
  LITZ_OP_2(logical_and, LogicalAnd) LITZ_OP_2(logical_or, LogicalOr) LITZ_OP_1(logical_not, LogicalNot)
  LITZ_OP_1(neg, Neg) LITZ_OP_1(abs, Abs) LITZ_OP_1(exp, Exp) LITZ_OP_1(log, Log) LITZ_OP_1(sqrt, Sqrt) LITZ_OP_1(rsqrt, Rsqrt)
  LITZ_OP_1(tanh, Tanh) LITZ_OP_1(erf, Erf) LITZ_OP_1(sigmoid, Sigmoid) LITZ_OP_1(isnan, IsNan) LITZ_OP_1(floor, Floor) LITZ_OP_1(ceil, Ceil)
  // clang-format on
#undef LITZ_OP_1
#undef LITZ_OP_2

                      DType dtype_of(ValueId v) const {
    return body_.instrs[v].result_dtype();
  }
  void yield(ValueId v) { body_.yields.push_back(v); }
  /// Coordinates outside the body (of a scatter) that name indirect symbols: these stay.
  void keep(Expr expr) { kept_.push_back(expr); }
  Body take();  // unused instructions dropped, but for checks

 private:
  ValueId record(Instr instr);
  const Instr& at(ValueId v) const { return body_.instrs[v]; }
  ValueId fold(Op op, std::span<const ValueId> operands);  // kNoValue: nothing to fold
  ExprContext& context_;
  Body body_;
  std::vector<Expr> kept_;
  std::unordered_multimap<uint64_t, ValueId> table_;  // by hash of the instruction
};

}  // namespace litz
