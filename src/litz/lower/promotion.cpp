#include "litz/lower/promotion.h"

#include "litz/symbolic/computed.h"

namespace litz {

bool is_number(const Argument& a) { return a.is<bool>() || a.is<int64_t>() || a.is<double>() || a.is<Expr>(); }

ValueId number_value(BodyBuilder& b, const Argument& a, DType dtype) {
  if (auto* e = std::get_if<Expr>(&a)) {
    const ValueId word = b.index_expr(*e);
    return b.cast(is_float(*e) ? b.bitcast(word, DType::kFloat64) : word, dtype);
  }
  if (auto* v = std::get_if<bool>(&a)) return b.constant(dtype, Number::of(int64_t{*v}));
  if (auto* i = std::get_if<int64_t>(&a)) return b.constant(dtype, Number::of(*i));
  return b.constant(dtype, Number::of(a.as<double>()));
}

namespace {

DType number_type(const Argument& a) {
  if (a.is<bool>()) return DType::kBool;
  const auto* symbol = std::get_if<Expr>(&a);
  return a.is<double>() || (symbol && is_float(*symbol)) ? DType::kFloat32 : DType::kInt64;
}

int category_rank(DType d) {
  switch (dtype_category(d)) {
    case DTypeCategory::kBool: return 0;
    case DTypeCategory::kUnsigned:
    case DTypeCategory::kSigned: return 1;
    case DTypeCategory::kFloat: return 2;
    case DTypeCategory::kComplex: return 3;
  }
  return 0;
}

/// The higher-priority type wins unless the lower one is of a higher category.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return lower;
  if (!lower) return higher;
  return category_rank(*lower) > category_rank(*higher) ? promote_types(*higher, *lower) : *higher;
}

}  // namespace

DType result_type(Lowering& lowering, std::span<const Argument* const> operands) {
  std::optional<DType> dimensioned, zero_dim, number;
  auto join = [](std::optional<DType>& into, DType d) { into = into ? promote_types(*into, d) : d; };
  for (const Argument* a : operands) {
    if (auto* v = std::get_if<Value>(a)) join(v->meta().rank() ? dimensioned : zero_dim, v->meta().dtype);
    else join(number, number_type(*a));
  }
  return *combine(dimensioned, combine(zero_dim, number));
}

}  // namespace litz
