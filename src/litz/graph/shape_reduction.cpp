#include <algorithm>

#include "litz/graph/shape_rules.h"
#include "litz/support/check.h"

namespace litz {
namespace {

TensorMeta reduced(const RuleCall& call, DType dtype, const std::vector<int64_t>& dims) {
  const TensorMeta& input = call.first_tensor();
  const Argument& keep = call.argument("keepdim");
  const bool keepdim = keep.is<bool>() && keep.as<bool>();
  std::vector<bool> is_reduced(input.rank(), false);
  for (int64_t d : dims) {
    const int64_t at = wrap_dim(d, input.rank());
    if (input.rank() > 0) is_reduced[at] = true;
  }
  std::vector<Expr> sizes;
  for (size_t i = 0; i < input.rank(); ++i) {
    if (!is_reduced[i]) sizes.push_back(input.sizes[i]);
    else if (keepdim) sizes.push_back(call.context.integer(1));
  }
  return call.fresh(dtype, std::move(sizes));
}

std::vector<int64_t> all_dims(size_t rank) {
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i) dims[i] = static_cast<int64_t>(i);
  return dims;
}

/// The dims of argument "dim"; none given means all, and so does an empty list except for any and all.
std::vector<int64_t> reduced_dims(const RuleCall& call) {
  const Argument& dim = call.argument("dim");
  const size_t rank = call.first_tensor().rank();
  if (dim.is<None>()) return all_dims(rank);
  if (dim.is<int64_t>()) return {dim.as<int64_t>()};
  std::vector<int64_t> dims = call.integers("dim");
  if (dims.empty() && call.type_rule != TypeRule::kCustom) return all_dims(rank);
  return dims;
}

}  // namespace

std::vector<TensorMeta> shape_reduce(const RuleCall& call) { return {reduced(call, call.result_dtype(), reduced_dims(call))}; }

std::vector<TensorMeta> shape_reduce_one(const RuleCall& call) { return shape_reduce(call); }

std::vector<TensorMeta> shape_reduce_pair(const RuleCall& call) {
  const auto dims = reduced_dims(call);
  TensorMeta first = reduced(call, call.result_dtype(), dims);
  TensorMeta second = first;
  if (call.type_rule == TypeRule::kFirstIndex) second.dtype = DType::kInt64;
  else second.dtype = call.first_tensor().dtype;  // the mean of complex numbers is complex
  return {first, second};
}

}  // namespace litz
