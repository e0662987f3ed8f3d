#include "litz/graph/type_rules.h"

#include "litz/support/check.h"
#include "litz/symbolic/computed.h"

namespace litz {
namespace {

using MaybeType = std::optional<DType>;

MaybeType promote(MaybeType a, MaybeType b) {
  if (!a) return b;
  if (!b) return a;
  return promote_types(*a, *b);
}

DType complex_type(DType type) {
  switch (type) {
    case DType::kFloat64: return DType::kComplex128;
    case DType::kFloat16: return DType::kComplex32;
    default: return DType::kComplex64;
  }
}

MaybeType combine(MaybeType higher, MaybeType lower) {
  if (!higher) return lower;
  if (!lower || is_complex(*higher)) return higher;
  if (is_floating(*higher)) return is_complex(*lower) ? complex_type(*higher) : *higher;
  if (*higher == DType::kBool || is_floating(*lower) || is_complex(*lower)) return promote_types(*higher, *lower);
  return higher;
}

struct Classes {
  MaybeType with_dimensions, without_dimensions, numbers;

  void add(const Argument& a) {
    if (a.is<Value>()) {
      const TensorMeta& m = a.as<Value>().meta();
      MaybeType& place = m.rank() > 0 ? with_dimensions : without_dimensions;
      place = promote(place, m.dtype);
    } else if (a.is<bool>()) {
      numbers = promote(numbers, DType::kBool);
    } else if (a.is<int64_t>() || (a.is<Expr>() && !is_float(a.as<Expr>()))) {
      numbers = promote(numbers, DType::kInt64);
    } else if (a.is<double>() || a.is<Expr>()) {
      numbers = promote(numbers, DType::kFloat32);
    } else if (a.is<std::complex<double>>()) {
      numbers = promote(numbers, DType::kComplex64);
    } else if (a.is<ArgumentList>()) {
      for (const Argument& element : a.as<ArgumentList>()) add(element);
    }
  }
};

}  // namespace

DType result_type(std::span<const Argument> operands) {
  Classes classes;
  for (const Argument& a : operands) classes.add(a);
  auto type = combine(classes.with_dimensions, combine(classes.without_dimensions, classes.numbers));
  if (!type) user_error("type promotion: expected a tensor or a number among the operands, found none");
  return *type;
}

DType float_result_type(DType type) { return is_floating(type) || is_complex(type) ? type : DType::kFloat32; }

DType real_type(DType type) {
  switch (type) {
    case DType::kComplex32: return DType::kFloat16;
    case DType::kComplex64: return DType::kFloat32;
    case DType::kComplex128: return DType::kFloat64;
    default: return type;
  }
}

}  // namespace litz
