#include "litz/support/dtype.h"

#include "litz/support/check.h"

namespace litz {
namespace {

struct Row {
  std::string_view text;
  int64_t bytes;
  int torch_code;
  DTypeCategory category;
};

constexpr Row kRows[] = {
#define LITZ_DTYPE(name, text, bytes, code, category) {text, bytes, code, DTypeCategory::k##category},
#include "litz/support/dtypes.def"
#undef LITZ_DTYPE
};
constexpr int kCount = sizeof(kRows) / sizeof(kRows[0]);

const Row& row(DType d) { return kRows[static_cast<int>(d)]; }

}  // namespace

std::string_view dtype_name(DType d) { return row(d).text; }
int64_t dtype_bytes(DType d) { return row(d).bytes; }
DTypeCategory dtype_category(DType d) { return row(d).category; }
int dtype_torch_code(DType d) { return row(d).torch_code; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (int i = 0; i < kCount; ++i)
    if (kRows[i].text == text) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<DType> dtype_from_torch_code(int code) {
  for (int i = 0; i < kCount; ++i)
    if (kRows[i].torch_code == code) return static_cast<DType>(i);
  return std::nullopt;
}

DType opmath_type(DType d) {
  if (d == DType::kComplex32) return DType::kComplex64;
  return is_floating(d) && dtype_bytes(d) < 4 ? DType::kFloat32 : d;
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  const auto ca = dtype_category(a), cb = dtype_category(b);
  if (ca < cb) return promote_types(b, a);
  // Now a's category is not below b's.
  switch (ca) {
    case DTypeCategory::kBool: return DType::kBool;
    case DTypeCategory::kUnsigned:
      if (cb == DTypeCategory::kBool) return a;
      return dtype_bytes(a) >= dtype_bytes(b) ? a : b;
    case DTypeCategory::kSigned:
      if (cb == DTypeCategory::kBool) return a;
      if (cb == DTypeCategory::kSigned) return dtype_bytes(a) >= dtype_bytes(b) ? a : b;
      if (dtype_bytes(a) > dtype_bytes(b)) return a;
      switch (dtype_bytes(b)) {
        case 1: return DType::kInt16;
        case 2: return DType::kInt32;
        default: return DType::kInt64;
      }
    case DTypeCategory::kFloat:
      if (cb != DTypeCategory::kFloat) return a;
      if (dtype_bytes(a) != dtype_bytes(b)) return dtype_bytes(a) > dtype_bytes(b) ? a : b;
      return DType::kFloat32;  // float16 with bfloat16, float8 kinds among themselves
    case DTypeCategory::kComplex:
      if (cb == DTypeCategory::kComplex) return dtype_bytes(a) >= dtype_bytes(b) ? a : b;
      if (b == DType::kFloat64) return DType::kComplex128;
      if (b == DType::kFloat32 || b == DType::kBFloat16) return a == DType::kComplex128 ? a : DType::kComplex64;
      return a;
  }
  LITZ_CHECK(false, "promotion of {} and {}", dtype_name(a), dtype_name(b));
}

}  // namespace litz
