// Elementwise arithmetic: overloads with numbers, and ops that a few primitives say.
#include <cmath>
#include <limits>
#include <numbers>

#include "litz/decompose/decompose.h"
#include "litz/symbolic/computed.h"

namespace litz {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The same op for tensors: a number in place of a tensor promotes as the overload with a Scalar does.
template <const char* const& kTarget>
Replacement as_tensor_overload(Rewrite& r) {
  return {r.b.call(kTarget, std::vector<Argument>(r.node.arguments))};
}
constexpr const char* kAdd = "aten.add.Tensor";
constexpr const char* kSub = "aten.sub.Tensor";
constexpr const char* kMul = "aten.mul.Tensor";
constexpr const char* kDiv = "aten.div.Tensor";
constexpr const char* kDivMode = "aten.div.Tensor_mode";
constexpr const char* kFmod = "aten.fmod.Tensor";
constexpr const char* kRemainder = "aten.remainder.Tensor";
constexpr const char* kEq = "aten.eq.Tensor";
constexpr const char* kNe = "aten.ne.Tensor";
constexpr const char* kLt = "aten.lt.Tensor";
constexpr const char* kLe = "aten.le.Tensor";
constexpr const char* kGt = "aten.gt.Tensor";
constexpr const char* kGe = "aten.ge.Tensor";
constexpr const char* kAnd = "aten.bitwise_and.Tensor";
constexpr const char* kOr = "aten.bitwise_or.Tensor";
constexpr const char* kXor = "aten.bitwise_xor.Tensor";
constexpr const char* kShiftLeft = "aten.bitwise_left_shift.Tensor";
constexpr const char* kShiftRight = "aten.bitwise_right_shift.Tensor";
constexpr const char* kCopysign = "aten.copysign.Tensor";
constexpr const char* kWhere = "aten.where.self";
constexpr const char* kMaximum = "aten.maximum";
constexpr const char* kMinimum = "aten.minimum";

Replacement rsub(Rewrite& r) { return {r.b.call("aten.sub.Tensor", {r.argument("other"), r.tensor("self"), r.argument("alpha")})}; }

Replacement floor_divide(Rewrite& r) {
  return {r.b.call("aten.div.Tensor_mode", {r.argument("self"), r.argument("other"), std::string("floor")})};
}

Replacement square(Rewrite& r) {
  const Value x = r.tensor("self");
  return {r.b.mul(x, x)};
}

Replacement frac(Rewrite& r) {
  const Value x = r.tensor("self");
  return {r.b.sub(x, r.b.call("aten.trunc", {x}))};
}

/// Eager has shortcuts for these exponents; others stay.
Replacement pow_number(Rewrite& r) {
  const Value x = r.tensor("self");
  const Argument& e = r.argument("exponent");
  if (!(e.is<int64_t>() || e.is<double>())) return {};
  const double exponent = r.number("exponent");
  const DType type = r.out().dtype;
  // An integer tensor with a float exponent computes in float.
  if (x.meta().dtype != type && exponent != 0) return {};
  if (exponent == 0 && !is_complex(type)) return {r.b.full(r.out().sizes, int64_t{1}, type, r.out().device)};
  if (exponent == 1) return {x};
  if (exponent == 2) return {r.b.mul(x, x)};
  if (exponent == 3) return {r.b.mul(r.b.mul(x, x), x)};
  if (!is_floating(type) || type == DType::kFloat16) return {};  // float16 has no further shortcuts: (-inf)^0.5 is inf
  if (exponent == 0.5) return {r.b.call("aten.sqrt", {x})};
  if (exponent == -0.5) return {r.b.call("aten.rsqrt", {x})};
  if (exponent == -1) return {r.b.call("aten.reciprocal", {x})};
  if (exponent == -2) return {r.b.call("aten.reciprocal", {r.b.mul(x, x)})};
  return {};
}

/// Whether a bound can be converted to the type; where it cannot, eager raises.
bool fits(const Argument& bound, DType type) {
  if (!bound.is<double>() || !is_floating(type)) return true;
  const double v = std::abs(bound.as<double>());
  if (std::isinf(v) || std::isnan(v)) return true;
  switch (type) {
    case DType::kFloat32:
    case DType::kBFloat16: return v <= std::numeric_limits<float>::max();
    case DType::kFloat16: return v <= 65504.0;
    default: return true;
  }
}

Replacement clamp_between(Rewrite& r, const Argument& low, const Argument& high) {
  Value x = r.tensor("self");
  if (!fits(low, r.out().dtype) || !fits(high, r.out().dtype)) return {};
  if (r.out().dtype == DType::kBool || (low.is<None>() && high.is<None>())) return {};
  if (!low.is<None>()) x = r.b.call("aten.maximum", {x, low});
  if (!high.is<None>()) x = r.b.call("aten.minimum", {x, high});
  return {r.result(x)};
}

Replacement clamp(Rewrite& r) { return clamp_between(r, r.argument("min"), r.argument("max")); }
Replacement clamp_min(Rewrite& r) { return clamp_between(r, r.argument("min"), None{}); }
Replacement clamp_max(Rewrite& r) { return clamp_between(r, None{}, r.argument("max")); }

Replacement masked_fill(Rewrite& r) {
  const Value x = r.tensor("self");
  const Argument& value = r.argument("value");
  const DType type = x.meta().dtype;
  // The fill takes the tensor's type; it never promotes it.
  Value fill;
  if (value.is<Value>()) {
    if (value.as<Value>().meta().rank() != 0) return {};
    fill = r.b.to(value.as<Value>(), type);
  } else {
    const bool is_real = value.is<double>() || (value.is<Expr>() && is_float(value.as<Expr>()));
    if (is_real && !is_floating(type) && !is_complex(type)) return {};
    if (!fits(value, type)) return {};
    fill = r.b.full({}, value, type, r.out().device);
  }
  return {r.b.where(r.tensor("mask"), fill, x)};
}

Replacement isfinite(Rewrite& r) {
  const Value x = r.tensor(r.node.op->arguments[0].name);
  if (!is_floating(x.meta().dtype)) return {};
  return {r.b.lt(r.b.call("aten.abs", {x}), kInf)};
}
Replacement isposinf(Rewrite& r) {
  if (!is_floating(r.tensor("self").meta().dtype)) return {};
  return {r.b.eq(r.tensor("self"), kInf)};
}
Replacement isneginf(Rewrite& r) {
  if (!is_floating(r.tensor("self").meta().dtype)) return {};
  return {r.b.eq(r.tensor("self"), -kInf)};
}

Replacement sgn(Rewrite& r) {
  if (is_complex(r.out().dtype)) return {};
  return {r.b.call("aten.sign", {r.tensor("self")})};
}

/// The largest finite number of a type.
std::optional<double> largest(DType type) {
  switch (type) {
    case DType::kFloat32: return std::numeric_limits<float>::max();
    case DType::kFloat64: return std::numeric_limits<double>::max();
    case DType::kFloat16: return 65504.0;
    case DType::kBFloat16: return 3.3895313892515355e38;
    default: return std::nullopt;
  }
}

Replacement nan_to_num(Rewrite& r) {
  const Value x = r.tensor("self");
  const auto most = largest(x.meta().dtype);
  if (!most) return {};
  const double nan = r.has("nan") ? r.number("nan") : 0.0;
  const double positive = r.has("posinf") ? r.number("posinf") : *most;
  const double negative = r.has("neginf") ? r.number("neginf") : -*most;
  Value y = r.b.where(r.b.eq(x, -kInf), negative, x);
  y = r.b.where(r.b.eq(x, kInf), positive, y);
  return {r.b.where(r.b.call("aten.isnan", {x}), nan, y)};
}

Replacement logit(Rewrite& r) {
  if (!is_floating(r.out().dtype) || r.tensor("self").meta().dtype != r.out().dtype) return {};
  Value x = r.opmath(r.tensor("self"));
  if (r.has("eps") && r.number("eps") >= 0) {
    const double eps = r.number("eps");
    x = r.b.where(r.b.lt(x, eps), eps, r.b.where(r.b.gt(x, 1.0 - eps), 1.0 - eps, x));
  }
  return {r.result(r.b.call("aten.log", {r.b.div(x, r.b.sub(int64_t{1}, x))}))};
}

bool is_float_binary(Rewrite& r) { return is_floating(r.out().dtype) && r.argument("self").is<Value>() && r.argument("other").is<Value>(); }

Replacement xlogy_by(Rewrite& r, const char* log) {
  if (!is_float_binary(r)) return {};
  const Value x = r.opmath(r.result(r.tensor("self"))), y = r.opmath(r.result(r.tensor("other")));
  Value v = r.b.mul(x, r.b.call(log, {y}));
  v = r.b.where(r.b.eq(x, int64_t{0}), 0.0, v);
  return {r.result(r.b.where(r.b.call("aten.isnan", {y}), kNan, v))};
}
Replacement xlogy(Rewrite& r) { return xlogy_by(r, "aten.log"); }
Replacement xlog1py(Rewrite& r) { return xlogy_by(r, "aten.log1p"); }

Replacement logaddexp(Rewrite& r) {
  if (!is_float_binary(r)) return {};
  const Value x = r.opmath(r.result(r.tensor("self"))), y = r.opmath(r.result(r.tensor("other")));
  const Value most = r.b.call("aten.maximum", {x, y});
  const Value distance = r.b.neg(r.b.call("aten.abs", {r.b.sub(x, y)}));
  const Value sum = r.b.add(most, r.b.call("aten.log1p", {r.b.call("aten.exp", {distance})}));
  // Two equal infinities have no distance.
  const Value same_infinity = r.b.call("aten.logical_and", {r.b.call("aten.isinf", {x}), r.b.eq(x, y)});
  return {r.result(r.b.where(same_infinity, x, sum))};
}

Argument value_factor(Rewrite& r) { return r.argument("value"); }

bool is_one(const Argument& a) { return (a.is<int64_t>() && a.as<int64_t>() == 1) || (a.is<double>() && a.as<double>() == 1.0); }

/// Operands in the common type's opmath: eager promotes first.
std::vector<Value> promoted(Rewrite& r, std::initializer_list<const char*> names) {
  std::vector<Value> values;
  for (const char* name : names) values.push_back(r.opmath(r.result(r.tensor(name))));
  return values;
}

Replacement addcmul(Rewrite& r) {
  if (is_complex(r.out().dtype)) return {};
  auto v = promoted(r, {"self", "tensor1", "tensor2"});
  const Argument factor = value_factor(r);
  const Value left = is_one(factor) ? v[1] : r.b.mul(v[1], factor);
  return {r.result(r.b.add(v[0], r.b.mul(left, v[2])))};
}

Replacement addcdiv(Rewrite& r) {
  if (!is_floating(r.out().dtype)) return {};
  auto v = promoted(r, {"self", "tensor1", "tensor2"});
  const Argument factor = value_factor(r);
  const Value left = is_one(factor) ? v[1] : r.b.mul(v[1], factor);
  return {r.result(r.b.add(v[0], r.b.div(left, v[2])))};
}

Replacement lerp(Rewrite& r) {
  if (!is_floating(r.out().dtype)) return {};
  auto v = promoted(r, {"self", "end"});
  const Argument& weight = r.argument("weight");
  const Value distance = r.b.sub(v[1], v[0]);
  // The end nearer to the result is the starting point.
  if (!weight.is<Value>()) {
    if (!weight.is<double>() && !weight.is<int64_t>()) return {};
    const double w = r.number("weight");
    if (std::abs(w) < 0.5) return {r.result(r.b.add(v[0], r.b.mul(distance, w)))};
    return {r.result(r.b.sub(v[1], r.b.mul(distance, 1.0 - w)))};
  }
  const Value w = r.opmath(weight.as<Value>());
  const Value near_start = r.b.add(v[0], r.b.mul(w, distance));
  const Value near_end = r.b.sub(v[1], r.b.mul(distance, r.b.sub(int64_t{1}, w)));
  return {r.result(r.b.where(r.b.lt(r.b.call("aten.abs", {w}), 0.5), near_start, near_end))};
}

Replacement heaviside(Rewrite& r) {
  const Value x = r.tensor("self");
  const Value above = r.b.to(r.b.gt(x, int64_t{0}), r.out().dtype);
  return {r.b.where(r.b.eq(x, int64_t{0}), r.tensor("values"), above)};
}

Replacement sinc(Rewrite& r) {
  if (!is_floating(r.out().dtype)) return {};
  const Value x = r.opmath(r.result(r.tensor("self")));
  const Value p = r.b.mul(x, std::numbers::pi);
  const Value ratio = r.b.div(r.b.call("aten.sin", {p}), p);
  return {r.result(r.b.where(r.b.eq(x, int64_t{0}), 1.0, ratio))};
}

Replacement scaled(Rewrite& r, double factor) {
  if (!is_floating(r.tensor("self").meta().dtype)) return {};
  return {r.b.mul(r.tensor("self"), factor)};
}
Replacement deg2rad(Rewrite& r) { return scaled(r, 0.017453292519943295769236907684886); }
Replacement rad2deg(Rewrite& r) { return scaled(r, 57.295779513082320876798154814105); }

constexpr Decomposition kRows[] = {
    {"aten.add.Scalar", as_tensor_overload<kAdd>},
    {"aten.sub.Scalar", as_tensor_overload<kSub>},
    {"aten.mul.Scalar", as_tensor_overload<kMul>},
    {"aten.div.Scalar", as_tensor_overload<kDiv>},
    {"aten.true_divide.Tensor", as_tensor_overload<kDiv>},
    {"aten.div.Scalar_mode", as_tensor_overload<kDivMode>},
    {"aten.fmod.Scalar", as_tensor_overload<kFmod>},
    {"aten.remainder.Scalar", as_tensor_overload<kRemainder>},
    {"aten.eq.Scalar", as_tensor_overload<kEq>},
    {"aten.ne.Scalar", as_tensor_overload<kNe>},
    {"aten.lt.Scalar", as_tensor_overload<kLt>},
    {"aten.le.Scalar", as_tensor_overload<kLe>},
    {"aten.gt.Scalar", as_tensor_overload<kGt>},
    {"aten.ge.Scalar", as_tensor_overload<kGe>},
    {"aten.bitwise_and.Scalar", as_tensor_overload<kAnd>},
    {"aten.bitwise_or.Scalar", as_tensor_overload<kOr>},
    {"aten.bitwise_xor.Scalar", as_tensor_overload<kXor>},
    {"aten.__and__.Tensor", as_tensor_overload<kAnd>},
    {"aten.__or__.Tensor", as_tensor_overload<kOr>},
    {"aten.__xor__.Tensor", as_tensor_overload<kXor>},
    {"aten.__and__.Scalar", as_tensor_overload<kAnd>},
    {"aten.__or__.Scalar", as_tensor_overload<kOr>},
    {"aten.__xor__.Scalar", as_tensor_overload<kXor>},
    {"aten.bitwise_left_shift.Tensor_Scalar", as_tensor_overload<kShiftLeft>},
    {"aten.bitwise_right_shift.Tensor_Scalar", as_tensor_overload<kShiftRight>},
    {"aten.__lshift__.Tensor", as_tensor_overload<kShiftLeft>},
    {"aten.__lshift__.Scalar", as_tensor_overload<kShiftLeft>},
    {"aten.__rshift__.Tensor", as_tensor_overload<kShiftRight>},
    {"aten.__rshift__.Scalar", as_tensor_overload<kShiftRight>},
    {"aten.copysign.Scalar", as_tensor_overload<kCopysign>},
    {"aten.where.ScalarOther", as_tensor_overload<kWhere>},
    {"aten.where.ScalarSelf", as_tensor_overload<kWhere>},
    {"aten.where.Scalar", as_tensor_overload<kWhere>},
    {"aten.max.other", as_tensor_overload<kMaximum>},
    {"aten.min.other", as_tensor_overload<kMinimum>},
    {"aten.rsub.Scalar", rsub},
    {"aten.rsub.Tensor", rsub},
    {"aten.floor_divide", floor_divide},
    {"aten.floor_divide.Scalar", floor_divide},
    {"aten.square", square},
    {"aten.frac", frac},
    {"aten.pow.Tensor_Scalar", pow_number},
    {"aten.clamp", clamp},
    {"aten.clamp.Tensor", clamp},
    {"aten.clamp_min", clamp_min},
    {"aten.clamp_min.Tensor", clamp_min},
    {"aten.clamp_max", clamp_max},
    {"aten.clamp_max.Tensor", clamp_max},
    {"aten.masked_fill.Scalar", masked_fill},
    {"aten.masked_fill.Tensor", masked_fill},
    {"aten.isfinite", isfinite},
    {"prims.isfinite", isfinite},
    {"aten.isposinf", isposinf},
    {"aten.isneginf", isneginf},
    {"aten.sgn", sgn},
    {"aten.nan_to_num", nan_to_num},
    {"aten.logit", logit},
    {"aten.xlogy.Tensor", xlogy},
    {"aten.special_xlog1py", xlog1py},
    {"aten.logaddexp", logaddexp},
    {"aten.addcmul", addcmul},
    {"aten.addcdiv", addcdiv},
    {"aten.lerp.Scalar", lerp},
    {"aten.lerp.Tensor", lerp},
    {"aten.heaviside", heaviside},
    {"aten.sinc", sinc},
    {"aten.deg2rad", deg2rad},
    {"aten.rad2deg", rad2deg},
};

}  // namespace

std::span<const Decomposition> pointwise_decompositions() { return kRows; }

}  // namespace litz
