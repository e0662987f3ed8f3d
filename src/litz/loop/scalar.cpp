#include "litz/loop/scalar.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "litz/loop/float_format.h"
#include "litz/support/check.h"

namespace litz {

namespace {

int64_t wrap(DType dtype, int64_t v) {
  switch (dtype) {
    case DType::kBool: return v != 0;
    case DType::kUInt8: return static_cast<uint8_t>(v);
    case DType::kInt8: return static_cast<int8_t>(v);
    case DType::kInt16: return static_cast<int16_t>(v);
    case DType::kUInt16: return static_cast<uint16_t>(v);
    case DType::kInt32: return static_cast<int32_t>(v);
    case DType::kUInt32: return static_cast<uint32_t>(v);
    default: return v;
  }
}

bool is_unsigned(DType d) { return dtype_category(d) == DTypeCategory::kUnsigned; }
int bit_width(DType d) { return static_cast<int>(dtype_bytes(d)) * 8; }
bool less(DType d, int64_t a, int64_t b) { return d == DType::kUInt64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b; }

int64_t float_to_integer(DType dtype, double v) {
  if (dtype == DType::kBool) return v != 0;
  if (dtype == DType::kUInt64 && v >= 9223372036854775808.0 && v < 18446744073709551616.0)
    return static_cast<int64_t>(static_cast<uint64_t>(v));
  if (dtype == DType::kInt32 && !(v > -2147483649.0 && v < 2147483648.0)) return std::numeric_limits<int32_t>::min();
  if (!(v >= -9223372036854775808.0 && v < 9223372036854775808.0)) return wrap(dtype, std::numeric_limits<int64_t>::min());
  return wrap(dtype, static_cast<int64_t>(v));
}

double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    double whole;
    return digamma(1 - x) - M_PI / std::tan(M_PI * std::modf(x, &whole));
  }
  double result = 0;
  for (; x < 10; x += 1) result -= 1 / x;
  double y = 1 / (x * x);
  double series = y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y / 12))))));
  return result + std::log(x) - 0.5 / x - series;
}

double erfinv(double x) {
  if (std::isnan(x) || std::fabs(x) > 1) return std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(x) == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  if (x == 0) return x;
  double l = std::log1p(-x * x), t = 2 / (M_PI * 0.147) + l / 2;
  double y = std::copysign(std::sqrt(std::sqrt(t * t - l / 0.147) - t), x);  // Winitzki's start, then Newton
  for (int i = 0; i < 6; ++i) {
    double error = std::fabs(x) > 0.5 ? -(std::erfc(std::fabs(y)) - (1 - std::fabs(x))) * (x < 0 ? -1 : 1) : std::erf(y) - x;
    double step = error / (2 / std::sqrt(M_PI) * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return y;
}

// T is the type in which eager computes: arithmetic rounds as it does there. Special functions are computed in double.
template <typename T>
double evaluate_float(Op op, T a, T b, T c) {
  switch (op) {
    case Op::kAdd: return a + b;
    case Op::kSub: return a - b;
    case Op::kMul: return a * b;
    case Op::kDiv: return a / b;
    case Op::kFma: return std::fma(a, b, c);
    case Op::kFloorDiv: {
      if (b == 0) return a / b;
      T m = std::fmod(a, b), q = (a - m) / b;
      if (m != 0 && (b < 0) != (m < 0)) q -= 1;
      if (q == 0) return std::copysign(T(0), a / b);
      T f = std::floor(q);
      return q - f > T(0.5) ? f + 1 : f;
    }
    case Op::kTruncDiv: return std::trunc(a / b);
    case Op::kFmod: return std::fmod(a, b);
    case Op::kRemainder: {
      T m = std::fmod(a, b);
      return m != 0 && (b < 0) != (m < 0) ? m + b : m;
    }
    case Op::kNeg: return -a;
    case Op::kAbs: return std::fabs(a);
    case Op::kSign: return static_cast<T>((a > 0) - (a < 0));
    case Op::kMinimum:
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
      return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
    case Op::kMaximum:
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
      return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
    case Op::kFmin: return std::fmin(a, b);
    case Op::kFmax: return std::fmax(a, b);
    case Op::kCeil: return std::ceil(a);
    case Op::kFloor: return std::floor(a);
    case Op::kTrunc: return std::trunc(a);
    case Op::kRound: return std::nearbyint(a);
    case Op::kSqrt: return std::sqrt(a);
    case Op::kRsqrt: return 1 / std::sqrt(static_cast<double>(a));
    case Op::kReciprocal: return 1 / a;
    case Op::kRelu: return std::isnan(a) ? a : (a > 0 ? a : T(0));
    case Op::kCopysign: return std::copysign(a, b);
    default: break;
  }
  double x = a, y = b;
  switch (op) {
    case Op::kExp: return std::exp(x);
    case Op::kLog: return std::log(x);
    case Op::kSin: return std::sin(x);
    case Op::kCos: return std::cos(x);
    case Op::kTanh: return std::tanh(x);
    case Op::kErf: return std::erf(x);
    case Op::kSigmoid: return 1 / (1 + std::exp(-x));
    case Op::kPow: return std::pow(x, y);
    case Op::kExp2: return std::exp2(x);
    case Op::kExpm1: return std::expm1(x);
    case Op::kLog2: return std::log2(x);
    case Op::kLog10: return std::log10(x);
    case Op::kLog1p: return std::log1p(x);
    case Op::kTan: return std::tan(x);
    case Op::kAsin: return std::asin(x);
    case Op::kAcos: return std::acos(x);
    case Op::kAtan: return std::atan(x);
    case Op::kSinh: return std::sinh(x);
    case Op::kCosh: return std::cosh(x);
    case Op::kAsinh: return std::asinh(x);
    case Op::kAcosh: return std::acosh(x);
    case Op::kAtanh: return std::atanh(x);
    case Op::kErfc: return std::erfc(x);
    case Op::kErfinv: return erfinv(x);
    case Op::kLgamma: return std::lgamma(x);
    case Op::kDigamma: return digamma(x);
    case Op::kAtan2: return std::atan2(x, y);
    case Op::kHypot: return std::hypot(x, y);
    default: LITZ_CHECK(false, "{} has no meaning for floats", op_text(op)); return 0;
  }
}

[[noreturn]] void division_by_zero() { user_error("ZeroDivisionError: integer division or modulo by zero"); }

int64_t divide(DType d, int64_t a, int64_t b) {
  if (b == 0) division_by_zero();
  if (d == DType::kUInt64) return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
}

int64_t modulus(DType d, int64_t a, int64_t b) {
  if (b == 0) division_by_zero();
  if (d == DType::kUInt64) return static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
  return b == -1 ? 0 : a % b;
}

int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, b = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, b *= b)
    if (exponent & 1) result *= b;
  return static_cast<int64_t>(result);
}

int64_t evaluate_integer(Op op, DType d, int64_t a, int64_t b) {
  bool is_bool = d == DType::kBool;
  auto u = [](int64_t v) { return static_cast<uint64_t>(v); };
  switch (op) {
    case Op::kAdd: return is_bool ? (a | b) : static_cast<int64_t>(u(a) + u(b));
    case Op::kSub: return static_cast<int64_t>(u(a) - u(b));
    case Op::kMul: return static_cast<int64_t>(u(a) * u(b));
    case Op::kTruncDiv: return divide(d, a, b);
    case Op::kFmod: return modulus(d, a, b);
    case Op::kFloorDiv: {
      int64_t q = divide(d, a, b), m = modulus(d, a, b);
      return !is_unsigned(d) && m != 0 && (m < 0) != (b < 0) ? q - 1 : q;
    }
    case Op::kRemainder: {
      int64_t m = modulus(d, a, b);
      return !is_unsigned(d) && m != 0 && (m < 0) != (b < 0) ? m + b : m;
    }
    case Op::kNeg: return static_cast<int64_t>(-u(a));
    case Op::kAbs: return !is_unsigned(d) && a < 0 ? static_cast<int64_t>(-u(a)) : a;
    case Op::kSign: return is_unsigned(d) ? a != 0 : (a > 0) - (a < 0);
    case Op::kMinimum:
    case Op::kFmin: return less(d, a, b) ? a : b;
    case Op::kMaximum:
    case Op::kFmax: return less(d, a, b) ? b : a;
    case Op::kBitwiseAnd: return a & b;
    case Op::kBitwiseOr: return a | b;
    case Op::kBitwiseXor: return a ^ b;
    case Op::kBitwiseNot: return is_bool ? !a : ~a;
    case Op::kShiftLeft: return b < 0 || b >= bit_width(d) ? 0 : static_cast<int64_t>(u(a) << b);
    case Op::kShiftRight:
      if (is_unsigned(d)) return b < 0 || b >= bit_width(d) ? 0 : static_cast<int64_t>(u(a) >> b);
      return a >> (b < 0 || b >= bit_width(d) ? std::min(bit_width(d) - 1, 63) : b);
    case Op::kCeil:
    case Op::kFloor:
    case Op::kTrunc:
    case Op::kRound: return a;
    case Op::kRelu: return !is_unsigned(d) && a < 0 ? 0 : a;
    case Op::kPow: return integer_power(a, b);
    default: LITZ_CHECK(false, "{} has no meaning for {}", op_text(op), dtype_name(d)); return 0;
  }
}

bool evaluate_bool(Op op, const Scalar& a, const Scalar& b) {
  bool f = is_floating(a.dtype);
  switch (op) {
    case Op::kEq: return f ? a.real == b.real : a.integer == b.integer;
    case Op::kNe: return f ? a.real != b.real : a.integer != b.integer;
    case Op::kLt: return f ? a.real < b.real : less(a.dtype, a.integer, b.integer);
    case Op::kLe: return f ? a.real <= b.real : !less(a.dtype, b.integer, a.integer);
    case Op::kGt: return f ? a.real > b.real : less(a.dtype, b.integer, a.integer);
    case Op::kGe: return f ? a.real >= b.real : !less(a.dtype, a.integer, b.integer);
    case Op::kIsNan: return f && std::isnan(a.real);
    case Op::kIsInf: return f && std::isinf(a.real);
    case Op::kSignbit: return f ? std::signbit(a.real) : !is_unsigned(a.dtype) && a.integer < 0;
    case Op::kLogicalAnd: return !a.is_zero() && !b.is_zero();
    case Op::kLogicalOr: return !a.is_zero() || !b.is_zero();
    case Op::kLogicalXor: return a.is_zero() != b.is_zero();
    case Op::kLogicalNot: return a.is_zero();
    default: LITZ_CHECK(false, "{} is no predicate", op_text(op)); return false;
  }
}

uint64_t element_bits(const Scalar& v) { return is_floating(v.dtype) ? encode_float(v.dtype, v.real) : static_cast<uint64_t>(v.integer); }
Scalar element_of(DType d, uint64_t bits) {
  Scalar result{d};
  if (is_floating(d)) result.real = decode_float(d, bits);
  else result.integer = wrap(d, static_cast<int64_t>(bits));
  return result;
}

double nextafter_in(DType d, double a, double b) {
  if (d == DType::kFloat64) return std::nextafter(a, b);
  if (d == DType::kFloat32) return std::nextafterf(static_cast<float>(a), static_cast<float>(b));
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return b;
  if (a == 0) return std::copysign(decode_float(d, 1), b);
  bool away = (a < b) == (a > 0);
  return decode_float(d, encode_float(d, a) + (away ? 1 : -1));
}

}  // namespace

Scalar scalar_of(DType dtype, double value) {
  LITZ_CHECK(!is_complex(dtype), "complex elements have no scalar form");
  Scalar result{dtype};
  if (is_floating(dtype)) result.real = round_float(dtype, value);
  else result.integer = float_to_integer(dtype, value);
  return result;
}

Scalar scalar_of(DType dtype, int64_t value) {
  if (is_floating(dtype)) {
    // One rounding from the integer to float32, as the host converts; then to the narrow type.
    return scalar_of(dtype, dtype == DType::kFloat64 ? static_cast<double>(value) : static_cast<double>(static_cast<float>(value)));
  }
  return Scalar{dtype, wrap(dtype, value), 0};
}

Scalar scalar_of(DType dtype, const Number& value) {
  return value.is_float ? scalar_of(dtype, value.real) : scalar_of(dtype, value.integer);
}

Scalar convert(const Scalar& value, DType dtype) {
  if (is_floating(value.dtype)) return scalar_of(dtype, value.real);
  if (value.dtype == DType::kUInt64 && value.integer < 0 && is_floating(dtype)) {
    auto u = static_cast<uint64_t>(value.integer);
    return scalar_of(dtype, dtype == DType::kFloat64 ? static_cast<double>(u) : static_cast<double>(static_cast<float>(u)));
  }
  return scalar_of(dtype, value.integer);
}

Scalar evaluate(Op op, DType dtype, std::span<const Scalar> in) {
  if (op == Op::kCast || op == Op::kCastKept) return convert(in[0], dtype);
  if (op == Op::kBitcast) return element_of(dtype, element_bits(in[0]));
  if (op == Op::kWhere) return in[0].integer ? in[1] : in[2];
  if (op_result(op) == OpResult::kBool) return Scalar{DType::kBool, evaluate_bool(op, in[0], in.size() > 1 ? in[1] : in[0]), 0};
  const Scalar &a = in[0], &b = in.size() > 1 ? in[1] : in[0], &c = in.size() > 2 ? in[2] : in[0];
  if (!is_floating(dtype)) return Scalar{dtype, wrap(dtype, evaluate_integer(op, dtype, a.integer, b.integer)), 0};
  if (op == Op::kNextafter) return scalar_of(dtype, nextafter_in(dtype, a.real, b.real));
  if (dtype == DType::kFloat64) return scalar_of(dtype, evaluate_float<double>(op, a.real, b.real, c.real));
  return scalar_of(dtype, evaluate_float<float>(op, static_cast<float>(a.real), static_cast<float>(b.real), static_cast<float>(c.real)));
}

Scalar read_element(DType dtype, const void* address) {
  LITZ_CHECK(!is_complex(dtype), "complex elements have no scalar form");
  uint64_t bits = 0;
  std::memcpy(&bits, address, static_cast<size_t>(dtype_bytes(dtype)));
  return element_of(dtype, bits);
}

void write_element(const Scalar& value, void* address) {
  uint64_t bits = element_bits(value);
  std::memcpy(address, &bits, static_cast<size_t>(dtype_bytes(value.dtype)));
}

uint32_t philox_uint(int64_t seed, int64_t offset) {
  const auto counter = static_cast<uint64_t>(offset >> 2);
  uint32_t c0 = static_cast<uint32_t>(counter), c1 = static_cast<uint32_t>(counter >> 32), c2 = 0, c3 = 0;
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(static_cast<uint64_t>(seed) >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
    uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  const uint32_t words[] = {c0, c1, c2, c3};
  return words[offset & 3];
}

}  // namespace litz
