#pragma once
// Element types, from dtypes.def.
#include <cstdint>
#include <optional>
#include <string_view>

namespace litz {

enum class DType : uint8_t {
#define LITZ_DTYPE(name, ...) k##name,
#include "litz/support/dtypes.def"
#undef LITZ_DTYPE
};

enum class DTypeCategory : uint8_t { kBool, kUnsigned, kSigned, kFloat, kComplex };

/// Short text, as the IRs print it: "f32", "bf16", "i64", "bool".
std::string_view dtype_name(DType dtype);
std::optional<DType> parse_dtype(std::string_view text);
int64_t dtype_bytes(DType dtype);
DTypeCategory dtype_category(DType dtype);
/// PyTorch's ScalarType number, as in its C interfaces.
int dtype_torch_code(DType dtype);
std::optional<DType> dtype_from_torch_code(int code);

inline bool is_floating(DType d) { return dtype_category(d) == DTypeCategory::kFloat; }
inline bool is_complex(DType d) { return dtype_category(d) == DTypeCategory::kComplex; }
inline bool is_integral(DType d) {  // bool excluded
  return dtype_category(d) == DTypeCategory::kSigned || dtype_category(d) == DTypeCategory::kUnsigned;
}
/// The type in which eager computes an op on this one: float32 for the narrow floats, otherwise the type itself.
DType opmath_type(DType dtype);
/// PyTorch's promotion of two tensor element types of one category class (both dimensioned).
DType promote_types(DType a, DType b);

}  // namespace litz
