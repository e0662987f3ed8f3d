#include "litz/codegen/triton/triton_names.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace litz {

namespace {

struct Names {
  const char* type;
  const char* signature;
};

Names names_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return {"tl.float32", "fp32"};
    case DType::kFloat64: return {"tl.float64", "fp64"};
    case DType::kFloat16: return {"tl.float16", "fp16"};
    case DType::kBFloat16: return {"tl.bfloat16", "bf16"};
    case DType::kFloat8E5M2: return {"tl.float8e5", "fp8e5"};
    case DType::kFloat8E4M3FN: return {"tl.float8e4nv", "fp8e4nv"};
    case DType::kFloat8E5M2FNUZ: return {"tl.float8e5b16", "fp8e5b16"};
    case DType::kFloat8E4M3FNUZ: return {"tl.float8e4b8", "fp8e4b8"};
    case DType::kComplex32:
    case DType::kComplex64:
    case DType::kComplex128: return {nullptr, nullptr};
    case DType::kUInt8: return {"tl.uint8", "u8"};
    case DType::kInt8: return {"tl.int8", "i8"};
    case DType::kInt16: return {"tl.int16", "i16"};
    case DType::kInt32: return {"tl.int32", "i32"};
    case DType::kInt64: return {"tl.int64", "i64"};
    case DType::kUInt16: return {"tl.uint16", "u16"};
    case DType::kUInt32: return {"tl.uint32", "u32"};
    case DType::kUInt64: return {"tl.uint64", "u64"};
    case DType::kBool: return {"tl.int1", "i1"};
  }
  return {nullptr, nullptr};
}

/// The shortest digits that read back as the number in that type.
std::string digits_of(double value, bool is_double) {
  const int most = is_double ? 17 : 9;
  for (int precision = 1; precision < most; ++precision) {
    std::string text = fmt::format("{:.{}g}", value, precision);
    const bool same =
        is_double ? std::strtod(text.c_str(), nullptr) == value : std::strtof(text.c_str(), nullptr) == static_cast<float>(value);
    if (same) return text;
  }
  return fmt::format("{:.{}g}", value, most);
}

}  // namespace

const char* triton_type(DType dtype) { return names_of(dtype).type; }
const char* triton_signature_type(DType dtype) { return names_of(dtype).signature; }

std::string python_literal(const Number& number, DType dtype) {
  if (dtype == DType::kBool) return number.as_double() != 0 ? "True" : "False";
  if (!is_floating(dtype)) return fmt::format("{}", number.is_float ? static_cast<int64_t>(number.real) : number.integer);
  const double value = dtype == DType::kFloat64 ? number.as_double() : static_cast<double>(static_cast<float>(number.as_double()));
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value < 0 ? "float(\"-inf\")" : "float(\"inf\")";
  std::string digits = digits_of(value, dtype == DType::kFloat64);
  return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
}

std::string typed_literal(const Number& number, DType dtype) {
  return fmt::format("tl.full([], {}, {})", python_literal(number, dtype), triton_type(dtype));
}

std::string python_comment(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 200)) out += c >= ' ' ? c : ' ';
  return out;
}

}  // namespace litz
