#include "litz/codegen/cpp/cpp_names.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace litz {

const char* cpp_element_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float";
    case DType::kFloat64: return "double";
    case DType::kFloat16: return "f16";
    case DType::kBFloat16: return "bf16";
    case DType::kFloat8E5M2: return "f8_e5m2";
    case DType::kFloat8E4M3FN: return "f8_e4m3fn";
    case DType::kFloat8E5M2FNUZ: return "f8_e5m2fnuz";
    case DType::kFloat8E4M3FNUZ: return "f8_e4m3fnuz";
    case DType::kComplex32:
    case DType::kComplex64:
    case DType::kComplex128: return nullptr;
    case DType::kUInt8: return "u8";
    case DType::kInt8: return "i8";
    case DType::kInt16: return "i16";
    case DType::kInt32: return "i32";
    case DType::kInt64: return "i64";
    case DType::kUInt16: return "u16";
    case DType::kUInt32: return "u32";
    case DType::kUInt64: return "u64";
    case DType::kBool: return "bool";
  }
  return nullptr;
}

const char* cpp_value_type(DType dtype) { return opmath_type(dtype) != dtype ? "float" : cpp_element_type(dtype); }

namespace {

std::string float_literal(double value, bool is_double) {
  const char* suffix = is_double ? "" : "f";
  if (std::isnan(value)) return is_double ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  if (std::isinf(value)) return fmt::format("{}__builtin_inf{}()", value < 0 ? "-" : "", suffix);
  std::string digits = is_double ? fmt::format("{:.17g}", value) : fmt::format("{:.9g}", static_cast<float>(value));
  for (int precision = 1; precision < (is_double ? 17 : 9); ++precision) {  // the shortest that reads back
    std::string shorter = fmt::format("{:.{}g}", is_double ? value : static_cast<double>(static_cast<float>(value)), precision);
    const bool same =
        is_double ? std::strtod(shorter.c_str(), nullptr) == value : std::strtof(shorter.c_str(), nullptr) == static_cast<float>(value);
    if (same) {
      digits = shorter;
      break;
    }
  }
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits + suffix;
}

}  // namespace

std::string cpp_literal(const Number& number, DType dtype) {
  if (dtype == DType::kBool) return number.as_double() != 0 ? "true" : "false";
  if (is_floating(dtype)) {
    const double value = number.as_double();
    if (dtype != DType::kFloat64 && std::isinf(static_cast<float>(value))) return float_literal(static_cast<float>(value), false);
    return float_literal(value, dtype == DType::kFloat64);
  }
  const int64_t value = number.is_float ? static_cast<int64_t>(number.real) : number.integer;
  const char* type = cpp_value_type(dtype);
  if (value == std::numeric_limits<int64_t>::min()) return fmt::format("({})(-9223372036854775807l - 1)", type);
  if (dtype == DType::kInt64) return fmt::format("{}l", value);
  if (dtype == DType::kInt32 && value != std::numeric_limits<int32_t>::min()) return fmt::format("{}", value);
  if (dtype == DType::kUInt64) return fmt::format("{}ul", static_cast<uint64_t>(value));
  return fmt::format("({})({}l)", type, value);
}

std::string cpp_comment(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 200)) out += (c >= ' ' && c != '\\') ? c : ' ';
  return out;
}

}  // namespace litz
