// Pointwise ops. The body computes in the result's type; an op of several instructions, or one that takes a number or a tensor
// without dimensions beside narrow floats, computes in opmath and rounds once, as eager.
#include <cmath>

#include "litz/lower/promotion.h"

namespace litz {

namespace {

struct Operands {
  Lowering& lowering;
  BodyBuilder& b;
  std::span<const Expr> index;

  ValueId raw(const Argument& a, DType number_dtype) {
    if (auto* v = std::get_if<Value>(&a)) return lowering.load_broadcast(b, lowering.view(*v), index);
    return number_value(b, a, number_dtype);
  }
  /// Converted to the type in which the op computes.
  ValueId as(const Argument& a, DType dtype) { return b.cast(raw(a, dtype), dtype); }
  /// In opmath: tensors with dimensions pass through the common type first, the others keep their precision.
  ValueId opmath(const Argument& a, DType common) {
    DType wide = opmath_type(common);
    if (wide == common || is_number(a)) return as(a, wide);
    bool has_dims = a.as<Value>().meta().rank() > 0;
    return has_dims ? b.cast(as(a, common), wide) : as(a, wide);
  }
};

/// Whether an operand beside narrow floats must not be rounded to them first.
bool is_scalar_like(const Argument& a, DType common) {
  if (opmath_type(common) == common) return false;
  return is_number(a) || (a.as<Value>().meta().rank() == 0 && a.as<Value>().meta().dtype != common);
}

bool is_one(const Argument& a) {
  if (auto* i = std::get_if<int64_t>(&a)) return *i == 1;
  if (auto* d = std::get_if<double>(&a)) return *d == 1;
  if (auto* v = std::get_if<bool>(&a)) return *v;
  return false;
}

template <Op kOp>
LoweringResult lower_add(Lowering& lowering, const Node& node) {
  const Argument &self = node.argument("self"), &other = node.argument("other"), &alpha = node.argument("alpha");
  DType common = node.outputs[0].dtype;
  if (kOp == Op::kSub && common == DType::kBool) return unsupported("subtraction of booleans");
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Operands in{lowering, b, index};
    bool needs_opmath = !is_one(alpha) || is_scalar_like(self, common) || is_scalar_like(other, common);
    if (!needs_opmath) return b.op(kOp, {in.as(self, common), in.as(other, common)});
    DType wide = opmath_type(common);
    ValueId right = in.opmath(other, common);
    if (!is_one(alpha)) right = b.mul(right, number_value(b, alpha, wide));
    return b.op(kOp, {in.opmath(self, common), right});
  })};
}

template <Op kOp>
LoweringResult lower_opmath_binary(Lowering& lowering, const Node& node) {
  const Argument &self = node.arguments[0], &other = node.arguments[1];
  DType common = node.outputs[0].dtype;
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Operands in{lowering, b, index};
    if (!is_scalar_like(self, common) && !is_scalar_like(other, common)) return b.op(kOp, {in.as(self, common), in.as(other, common)});
    return b.op(kOp, {in.opmath(self, common), in.opmath(other, common)});
  })};
}

/// Both operands are converted to the result's type.
template <Op kOp>
LoweringResult lower_binary(Lowering& lowering, const Node& node) {
  DType common = node.outputs[0].dtype;
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Operands in{lowering, b, index};
    return b.op(kOp, {in.as(node.arguments[0], common), in.as(node.arguments[1], common)});
  })};
}

LoweringResult lower_div_mode(Lowering& lowering, const Node& node) {
  const Argument& mode = node.argument("rounding_mode");
  if (mode.is<None>()) return lower_opmath_binary<Op::kDiv>(lowering, node);
  DType common = node.outputs[0].dtype;
  bool is_floor = mode.as<std::string>() == "floor";
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Operands in{lowering, b, index};
    ValueId x = in.opmath(node.arguments[0], common), y = in.opmath(node.arguments[1], common);
    if (is_floor) return b.op(Op::kFloorDiv, {x, y});
    if (!is_floating(common)) return b.op(Op::kTruncDiv, {x, y});
    // Eager rounds the quotient of two narrow tensors before it truncates: 17.96 is 18 in bfloat16. That rounding must stay.
    bool rounds_first = !is_scalar_like(node.arguments[0], common) && !is_scalar_like(node.arguments[1], common);
    ValueId quotient = b.div(x, y);
    return b.op(Op::kTrunc, {rounds_first && opmath_type(common) != common ? b.cast(quotient, common, true) : quotient});
  })};
}

template <Op kOp>
LoweringResult lower_comparison(Lowering& lowering, const Node& node) {
  const Argument* operands[] = {&node.arguments[0], &node.arguments[1]};
  DType common = result_type(lowering, operands);
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Operands in{lowering, b, index};
    return b.op(kOp, {in.as(node.arguments[0], common), in.as(node.arguments[1], common)});
  })};
}

/// Each operand by its own type: only zero or not matters.
template <Op kOp>
LoweringResult lower_logical(Lowering& lowering, const Node& node) {
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Operands in{lowering, b, index};
    auto truth = [&](const Argument& a) { return b.cast(in.raw(a, DType::kFloat64), DType::kBool); };
    if constexpr (kOp == Op::kLogicalNot) return b.logical_not(in.raw(node.arguments[0], DType::kFloat64));
    else return b.op(kOp, {truth(node.arguments[0]), truth(node.arguments[1])});
  })};
}

template <Op kOp>
LoweringResult lower_unary(Lowering& lowering, const Node& node) {
  DType dtype = node.outputs[0].dtype;
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Operands in{lowering, b, index};
    ValueId x = in.as(node.arguments[0], dtype);
    bool is_noop = (kOp == Op::kAbs || kOp == Op::kRelu || kOp == Op::kSign) && dtype == DType::kBool;
    return is_noop ? x : b.op(kOp, {x});
  })};
}

/// Results are bool; the operand keeps its type.
template <Op kOp>
LoweringResult lower_test(Lowering& lowering, const Node& node) {
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Operands in{lowering, b, index};
    // No integer and no truth value is infinite, not a number or (bool) below zero.
    const auto* tensor = std::get_if<Value>(&node.arguments[0]);
    const bool is_float = !tensor || is_floating(tensor->meta().dtype);
    if (!is_float && (kOp != Op::kSignbit || tensor->meta().dtype == DType::kBool)) return b.constant(DType::kBool, 0.0);
    return b.op(kOp, {in.raw(node.arguments[0], DType::kFloat32)});
  })};
}

template <Op kOp>
LoweringResult lower_rounding(Lowering& lowering, const Node& node) {
  if (!is_floating(node.outputs[0].dtype))  // of integers: a copy
    return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
      return Operands{lowering, b, index}.as(node.arguments[0], node.outputs[0].dtype);
    })};
  return lower_unary<kOp>(lowering, node);
}

LoweringResult lower_where(Lowering& lowering, const Node& node) {
  DType dtype = node.outputs[0].dtype;
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Operands in{lowering, b, index};
    ValueId condition = b.cast(in.raw(node.argument("condition"), DType::kBool), DType::kBool);
    return b.where(condition, in.as(node.argument("self"), dtype), in.as(node.argument("other"), dtype));
  })};
}

/// Exponents that eager computes by multiplication or a square root.
ValueId power(BodyBuilder& b, ValueId x, double exponent, DType wide) {
  if (exponent == 2) return b.mul(x, x);
  if (exponent == 3) return b.mul(b.mul(x, x), x);
  if (is_floating(wide)) {
    if (exponent == 0.5) return b.sqrt(x);
    if (exponent == -0.5) return b.rsqrt(x);
    if (exponent == -1) return b.op(Op::kReciprocal, {x});
    if (exponent == -2) return b.op(Op::kReciprocal, {b.mul(x, x)});
  }
  return kNoValue;
}

LoweringResult lower_pow_scalar(Lowering& lowering, const Node& node) {
  const Argument& exponent = node.argument("exponent");
  DType dtype = node.outputs[0].dtype, wide = opmath_type(dtype);
  std::optional<double> value;
  if (auto* i = std::get_if<int64_t>(&exponent)) value = static_cast<double>(*i);
  if (auto* d = std::get_if<double>(&exponent)) value = *d;
  if (auto* t = std::get_if<bool>(&exponent)) value = *t;
  if (dtype == DType::kBool) return unsupported("powers of booleans");
  if (!is_floating(dtype) && value && *value < 0) return unsupported("integers to negative powers: eager raises");
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Operands in{lowering, b, index};
    ValueId x = b.cast(in.as(node.argument("self"), dtype), wide);
    if (value && *value == 0) return b.constant(wide, 1.0);
    if (value && *value == 1) return x;
    if (value)
      if (ValueId special = power(b, x, *value, wide); special != kNoValue) return special;
    return b.op(Op::kPow, {x, number_value(b, exponent, wide)});
  })};
}

LoweringResult lower_pow(Lowering& lowering, const Node& node) {
  if (node.outputs[0].dtype == DType::kBool) return unsupported("powers of booleans");
  return lower_binary<Op::kPow>(lowering, node);
}

constexpr LoweringEntry kTable[] = {
    {"aten.add.Tensor", lower_add<Op::kAdd>},
    {"aten.sub.Tensor", lower_add<Op::kSub>},
    {"aten.mul.Tensor", lower_opmath_binary<Op::kMul>},
    {"aten.div.Tensor", lower_opmath_binary<Op::kDiv>},
    {"aten.div.Tensor_mode", lower_div_mode},
    {"aten.fmod.Tensor", lower_binary<Op::kFmod>},
    {"aten.remainder.Tensor", lower_binary<Op::kRemainder>},
    {"aten.pow.Tensor_Tensor", lower_pow},
    {"aten.pow.Tensor_Scalar", lower_pow_scalar},
    {"aten.pow.Scalar", lower_pow},
    {"aten.maximum", lower_binary<Op::kMaximum>},
    {"aten.minimum", lower_binary<Op::kMinimum>},
    {"aten.fmax", lower_binary<Op::kFmax>},
    {"aten.fmin", lower_binary<Op::kFmin>},
    {"aten.atan2", lower_binary<Op::kAtan2>},
    {"aten.hypot", lower_binary<Op::kHypot>},
    {"aten.copysign.Tensor", lower_binary<Op::kCopysign>},
    {"aten.nextafter", lower_binary<Op::kNextafter>},
    {"aten.eq.Tensor", lower_comparison<Op::kEq>},
    {"aten.ne.Tensor", lower_comparison<Op::kNe>},
    {"aten.lt.Tensor", lower_comparison<Op::kLt>},
    {"aten.le.Tensor", lower_comparison<Op::kLe>},
    {"aten.gt.Tensor", lower_comparison<Op::kGt>},
    {"aten.ge.Tensor", lower_comparison<Op::kGe>},
    {"aten.logical_and", lower_logical<Op::kLogicalAnd>},
    {"aten.logical_or", lower_logical<Op::kLogicalOr>},
    {"aten.logical_xor", lower_logical<Op::kLogicalXor>},
    {"aten.logical_not", lower_logical<Op::kLogicalNot>},
    {"aten.bitwise_and.Tensor", lower_binary<Op::kBitwiseAnd>},
    {"aten.bitwise_or.Tensor", lower_binary<Op::kBitwiseOr>},
    {"aten.bitwise_xor.Tensor", lower_binary<Op::kBitwiseXor>},
    {"aten.bitwise_not", lower_unary<Op::kBitwiseNot>},
    {"aten.bitwise_left_shift.Tensor", lower_binary<Op::kShiftLeft>},
    {"aten.bitwise_right_shift.Tensor", lower_binary<Op::kShiftRight>},
    {"aten.where.self", lower_where},
    {"aten.abs", lower_unary<Op::kAbs>},
    {"aten.neg", lower_unary<Op::kNeg>},
    {"aten.sign", lower_unary<Op::kSign>},
    {"aten.ceil", lower_rounding<Op::kCeil>},
    {"aten.floor", lower_rounding<Op::kFloor>},
    {"aten.trunc", lower_rounding<Op::kTrunc>},
    {"aten.round", lower_rounding<Op::kRound>},
    {"aten.relu", lower_unary<Op::kRelu>},
    {"aten.isnan", lower_test<Op::kIsNan>},
    {"aten.isinf", lower_test<Op::kIsInf>},
    {"aten.signbit", lower_test<Op::kSignbit>},
    {"aten.sqrt", lower_unary<Op::kSqrt>},
    {"aten.rsqrt", lower_unary<Op::kRsqrt>},
    {"aten.reciprocal", lower_unary<Op::kReciprocal>},
    {"aten.exp", lower_unary<Op::kExp>},
    {"aten.exp2", lower_unary<Op::kExp2>},
    {"aten.expm1", lower_unary<Op::kExpm1>},
    {"aten.log", lower_unary<Op::kLog>},
    {"aten.log2", lower_unary<Op::kLog2>},
    {"aten.log10", lower_unary<Op::kLog10>},
    {"aten.log1p", lower_unary<Op::kLog1p>},
    {"aten.sin", lower_unary<Op::kSin>},
    {"aten.cos", lower_unary<Op::kCos>},
    {"aten.tan", lower_unary<Op::kTan>},
    {"aten.asin", lower_unary<Op::kAsin>},
    {"aten.acos", lower_unary<Op::kAcos>},
    {"aten.atan", lower_unary<Op::kAtan>},
    {"aten.sinh", lower_unary<Op::kSinh>},
    {"aten.cosh", lower_unary<Op::kCosh>},
    {"aten.tanh", lower_unary<Op::kTanh>},
    {"aten.asinh", lower_unary<Op::kAsinh>},
    {"aten.acosh", lower_unary<Op::kAcosh>},
    {"aten.atanh", lower_unary<Op::kAtanh>},
    {"aten.erf", lower_unary<Op::kErf>},
    {"aten.erfc", lower_unary<Op::kErfc>},
    {"aten.erfinv", lower_unary<Op::kErfinv>},
    {"aten.lgamma", lower_unary<Op::kLgamma>},
    {"aten.digamma", lower_unary<Op::kDigamma>},
    {"aten.sigmoid", lower_unary<Op::kSigmoid>},
};

}  // namespace

std::span<const LoweringEntry> pointwise_lowerings() { return kTable; }

}  // namespace litz
