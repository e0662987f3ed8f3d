#include "litz/loop/value_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "litz/loop/interpret.h"
#include "litz/loop/program.h"

namespace litz {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kExactIntegers = 9007199254740992.0;

ValueBounds bounds_of(DType dtype) {
  switch (dtype_category(dtype)) {
    case DTypeCategory::kBool: return {0, 1, true};
    case DTypeCategory::kUnsigned: return {0, std::ldexp(1, static_cast<int>(dtype_bytes(dtype)) * 8), true};
    case DTypeCategory::kSigned: {
      double half = std::ldexp(1, static_cast<int>(dtype_bytes(dtype)) * 8 - 1);
      return {-half, half, true};
    }
    default: return {-kInf, kInf, false};
  }
}

ValueBounds from_range(ValueRange r) {
  auto side = [](int64_t v, double direction) {
    if (v == kIntInf) return kInf;
    if (v == -kIntInf) return -kInf;
    double d = static_cast<double>(v);
    return std::fabs(d) >= kExactIntegers ? std::nextafter(d, direction) : d;
  };
  return {side(r.lower, -kInf), side(r.upper, kInf), true};
}

struct Ranges : UniformHandler<Ranges, ValueBounds> {
  const Body& body;
  explicit Ranges(const Body& body) : body(body) {}

  ValueBounds constant(const Instr& i) {
    double v = i.number.as_double();
    if (std::isnan(v)) return {-kInf, kInf, false};
    if (!i.number.is_float) return clamp(i.dtype, from_range({i.number.integer, i.number.integer}));
    return {v, v, true};
  }
  ValueBounds index_expr(const Instr& i) {
    ValueBounds r = clamp(i.dtype, from_range(i.expr.range()));
    if (is_floating(i.dtype)) r = widen(i.dtype, r);
    return r;
  }
  ValueBounds load(const Instr& i, const ValueBounds*) { return bounds_of(i.dtype); }
  ValueBounds indirect(const Instr&, ValueBounds v) { return v; }
  ValueBounds check_index(const Instr& i, ValueBounds, const ValueBounds* predicate) {
    ValueBounds extent = from_range(i.expr.range());
    // Where the predicate is false nothing is checked, and what comes out is not used as an index.
    return predicate ? bounds_of(i.dtype) : ValueBounds{0, std::max(extent.upper - 1, 0.0), true};
  }
  ValueBounds assert_true(const Instr&, ValueBounds) { return {1, 1, true}; }
  ValueBounds random_uint(const Instr&, ValueBounds, ValueBounds) { return bounds_of(DType::kUInt32); }

  /// A float result may round past computed bounds: give it room.
  static ValueBounds widen(DType dtype, ValueBounds v) {
    if (dtype == DType::kFloat64) return v;
    auto out = [](double b, double sign) { return std::isinf(b) || b == 0 ? b : b + sign * (std::fabs(b) * 0.13 + 1e-30); };
    return {out(v.lower, -1), out(v.upper, 1), v.is_nan_free};
  }
  /// An integer that leaves its type wraps: nothing is known then.
  static ValueBounds clamp(DType dtype, ValueBounds v) {
    if (is_floating(dtype)) return v;
    ValueBounds all = bounds_of(dtype);
    return v.lower < all.lower || v.upper > all.upper || std::isnan(v.lower) || std::isnan(v.upper) ? all : v;
  }
  static ValueBounds hull(std::initializer_list<double> corners, bool nan_free) {
    for (double c : corners)
      if (std::isnan(c)) return {-kInf, kInf, false};
    return {std::min(corners), std::max(corners), nan_free};
  }

  ValueBounds arithmetic(const Instr& i, const ValueBounds& a, const ValueBounds& b) {
    bool finite = !std::isinf(a.lower) && !std::isinf(a.upper) && !std::isinf(b.lower) && !std::isinf(b.upper);
    bool nan_free = a.is_nan_free && b.is_nan_free && (finite || !is_floating(i.dtype));
    ValueBounds r{-kInf, kInf, nan_free};
    switch (i.op) {
      case Op::kAdd: r = {a.lower + b.lower, a.upper + b.upper, nan_free}; break;
      case Op::kSub: r = {a.lower - b.upper, a.upper - b.lower, nan_free}; break;
      case Op::kMul: r = hull({a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper}, nan_free); break;
      default: break;
    }
    if (std::isnan(r.lower) || std::isnan(r.upper)) return bounds_of(i.dtype);
    bool is_large = std::max(std::fabs(r.lower), std::fabs(r.upper)) >= kExactIntegers;
    if (!is_floating(i.dtype)) return is_large ? bounds_of(i.dtype) : clamp(i.dtype, r);
    return i.dtype == DType::kFloat64 ? ValueBounds{std::nextafter(r.lower, -kInf), std::nextafter(r.upper, kInf), nan_free}
                                      : widen(i.dtype, r);
  }

  ValueBounds compare(Op op, const ValueBounds& a, const ValueBounds& b) {
    bool ordered = a.is_nan_free && b.is_nan_free;
    constexpr ValueBounds kTrue{1, 1, true}, kFalse{0, 0, true};
    bool less = a.upper<b.lower, less_equal = a.upper <= b.lower, greater = a.lower> b.upper, greater_equal = a.lower >= b.upper;
    switch (op) {
      case Op::kLt:
        if (less && ordered) return kTrue;
        if (greater_equal) return kFalse;
        break;
      case Op::kLe:
        if (less_equal && ordered) return kTrue;
        if (greater) return kFalse;
        break;
      case Op::kGt:
        if (greater && ordered) return kTrue;
        if (less_equal) return kFalse;
        break;
      case Op::kGe:
        if (greater_equal && ordered) return kTrue;
        if (less) return kFalse;
        break;
      case Op::kEq:
        if (less || greater) return kFalse;
        if (a.is_single() && b.is_single() && a.lower == b.lower) return kTrue;
        break;
      case Op::kNe:
        if (less || greater) return kTrue;
        if (a.is_single() && b.is_single() && a.lower == b.lower) return kFalse;
        break;
      default: break;
    }
    return {0, 1, true};
  }

  ValueBounds apply(const Instr& i, std::initializer_list<ValueBounds> operands) {
    const ValueBounds* v = operands.begin();
    switch (i.op) {
      case Op::kCast:
      case Op::kCastKept: {
        if (i.dtype == DType::kBool) return {0, 1, true};
        bool from_float = is_floating(body.instrs[i.operands[0]].result_dtype());
        if (is_floating(i.dtype)) return widen(i.dtype, v[0]);
        ValueBounds r = from_float ? ValueBounds{std::trunc(v[0].lower), std::trunc(v[0].upper), true} : v[0];
        if (from_float && !v[0].is_nan_free) return bounds_of(i.dtype);
        return clamp(i.dtype, r);
      }
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
        if (i.dtype == DType::kBool) return {0, 1, true};
        return arithmetic(i, v[0], v[1]);
      case Op::kNeg: return clamp(i.dtype, {-v[0].upper, -v[0].lower, v[0].is_nan_free});
      case Op::kAbs: {
        double m = std::max(std::fabs(v[0].lower), std::fabs(v[0].upper));
        return clamp(i.dtype, {v[0].lower > 0 ? v[0].lower : v[0].upper < 0 ? -v[0].upper : 0, m, v[0].is_nan_free});
      }
      case Op::kSign: return {-1, 1, true};
      case Op::kRelu: return {std::max(v[0].lower, 0.0), std::max(v[0].upper, 0.0), v[0].is_nan_free};
      case Op::kMinimum: return {std::min(v[0].lower, v[1].lower), std::min(v[0].upper, v[1].upper), v[0].is_nan_free && v[1].is_nan_free};
      case Op::kMaximum: return {std::max(v[0].lower, v[1].lower), std::max(v[0].upper, v[1].upper), v[0].is_nan_free && v[1].is_nan_free};
      case Op::kWhere: return {std::min(v[1].lower, v[2].lower), std::max(v[1].upper, v[2].upper), v[1].is_nan_free && v[2].is_nan_free};
      case Op::kLt:
      case Op::kLe:
      case Op::kGt:
      case Op::kGe:
      case Op::kEq:
      case Op::kNe: return compare(i.op, v[0], v[1]);
      case Op::kFloor:
      case Op::kCeil:
      case Op::kTrunc:
      case Op::kRound: return {std::floor(v[0].lower), std::ceil(v[0].upper), v[0].is_nan_free};
      case Op::kSigmoid: return {0, 1, v[0].is_nan_free};
      case Op::kTanh:
      case Op::kErf: return {-1, 1, v[0].is_nan_free};
      case Op::kExp:
      case Op::kExp2: return {0, kInf, v[0].is_nan_free};
      case Op::kRemainder:
        if (!is_floating(i.dtype) && v[1].lower > 0) return {0, v[1].upper - 1, true};
        break;
      case Op::kFloorDiv:
      case Op::kTruncDiv:
        if (!is_floating(i.dtype) && v[0].lower >= 0 && v[1].lower > 0) return {0, v[0].upper, true};
        break;
      default: break;
    }
    return op_result(i.op) == OpResult::kBool ? ValueBounds{0, 1, true} : bounds_of(i.dtype);
  }
};

}  // namespace

std::vector<ValueBounds> value_ranges(const Body& body) {
  Ranges handler(body);
  return interpret(body, handler);
}

}  // namespace litz
