#include <limits>

#include "litz/loop/float_format.h"
#include "litz/loop/program.h"

namespace litz {

namespace {

// In the order of ReductionKind. name, inputs, outputs, associative, exact in any order.
constexpr ReductionTraits kTraits[kReductionKinds] = {
    {"sum", 1, 1, true, false},
    {"prod", 1, 1, true, false},
    {"min", 1, 1, true, true},
    {"max", 1, 1, true, true},
    {"any", 1, 1, true, true},
    {"all", 1, 1, true, true},
    {"xor_sum", 1, 1, true, true},
    {"arg_min", 2, 1, true, true},
    {"arg_max", 2, 1, true, true},
    {"min_with_index", 2, 2, true, true},
    {"max_with_index", 2, 2, true, true},
    {"welford", 1, 2, true, false},
    {"log_sum_exp", 1, 2, true, false},
    {"sort", 2, 2, false, true},
    {"sort_descending", 2, 2, false, true},
};

Number lowest(DType dtype) {
  if (is_floating(dtype)) return Number::of(has_infinity(dtype) ? -std::numeric_limits<double>::infinity() : -largest_finite(dtype));
  if (dtype_category(dtype) != DTypeCategory::kSigned) return Number::of(int64_t{0});
  return Number::of(static_cast<int64_t>(-(uint64_t{1} << (dtype_bytes(dtype) * 8 - 1))));
}

Number highest(DType dtype) {
  if (is_floating(dtype)) return Number::of(has_infinity(dtype) ? std::numeric_limits<double>::infinity() : largest_finite(dtype));
  if (dtype == DType::kBool) return Number::of(int64_t{1});
  uint64_t all_ones = ~uint64_t{0} >> (64 - dtype_bytes(dtype) * 8);
  return Number::of(static_cast<int64_t>(dtype_category(dtype) == DTypeCategory::kSigned ? all_ones >> 1 : all_ones));
}

Number number_in(DType dtype, int64_t v) { return is_floating(dtype) ? Number::of(static_cast<double>(v)) : Number::of(v); }

}  // namespace

const ReductionTraits& reduction_traits(ReductionKind kind) { return kTraits[static_cast<int>(kind)]; }
std::string_view reduction_name(ReductionKind kind) { return reduction_traits(kind).name; }

std::optional<ReductionKind> parse_reduction(std::string_view name) {
  for (int k = 0; k < kReductionKinds; ++k)
    if (kTraits[k].name == name) return static_cast<ReductionKind>(k);
  return std::nullopt;
}

Number reduction_identity(ReductionKind kind, DType dtype) {
  LITZ_CHECK(!is_complex(dtype), "reductions of complex elements go to the dispatcher");
  switch (kind) {
    case ReductionKind::kSum:
    case ReductionKind::kXorSum:
    case ReductionKind::kAny:
    case ReductionKind::kWelford: return number_in(dtype, 0);
    case ReductionKind::kProd:
    case ReductionKind::kAll: return number_in(dtype, 1);
    case ReductionKind::kMin:
    case ReductionKind::kArgMin:
    case ReductionKind::kMinWithIndex:
    case ReductionKind::kSort: return highest(dtype);
    case ReductionKind::kMax:
    case ReductionKind::kArgMax:
    case ReductionKind::kMaxWithIndex:
    case ReductionKind::kSortDescending:
    case ReductionKind::kLogSumExp: return lowest(dtype);
  }
  LITZ_CHECK(false, "no such reduction");
  return {};
}

}  // namespace litz
