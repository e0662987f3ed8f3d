// Pooling and the library ops.
#include "litz/graph/shape_rules.h"
#include "litz/support/check.h"

namespace litz {
namespace {

/// A list with one entry stands for all dimensions.
template <typename T>
T at(const std::vector<T>& list, size_t i) {
  return list.size() == 1 ? list[0] : list.at(i);
}

std::vector<Expr> pooled_sizes(const RuleCall& call, size_t spatial) {
  const TensorMeta& input = call.tensor(0);
  if (input.rank() < spatial) user_error("{}: {} dimensions, expected at least {}", call.op.name, input.rank(), spatial);
  const auto kernel = call.integers("kernel_size");
  auto stride = call.integers("stride");
  if (stride.empty()) stride = kernel;
  const auto padding = call.integers("padding");
  std::vector<int64_t> dilation{1};
  if (call.op.argument_index("dilation") >= 0) dilation = call.integers("dilation");
  const bool ceil_mode = call.argument("ceil_mode").as<bool>();
  std::vector<Expr> sizes = input.sizes;
  for (size_t i = 0; i < spatial; ++i) {
    Expr& n = sizes[sizes.size() - spatial + i];
    n = pool_size(n, at(kernel, i), call.context.integer(at(padding, i)), at(stride, i), at(dilation, i), ceil_mode);
  }
  return sizes;
}

Expr matching(const RuleCall& call, Expr a, Expr b) {
  if (a.is_integer() && b.is_integer() && !(a == b))
    user_error("{}: sizes {} and {} should be equal", call.op.name, to_string(a), to_string(b));
  return a.is_integer() ? a : b;
}

std::vector<TensorMeta> product_of(const RuleCall& call, int left, int right) {
  const TensorMeta &a = call.tensor(left), &b = call.tensor(right);
  const size_t rank = a.rank();
  if (b.rank() != rank || rank < 2) user_error("{}: {} and {} dimensions", call.op.name, a.rank(), b.rank());
  matching(call, a.sizes[rank - 1], b.sizes[rank - 2]);
  std::vector<Expr> sizes;
  if (rank == 3) sizes.push_back(matching(call, a.sizes[0], b.sizes[0]));
  sizes.push_back(a.sizes[rank - 2]);
  sizes.push_back(b.sizes[rank - 1]);
  return {call.fresh(call.result_dtype(), std::move(sizes))};
}

}  // namespace

Expr pool_size(Expr input, int64_t kernel, Expr padding, int64_t stride, int64_t dilation, bool ceil_mode) {
  ExprContext& context = input.context();
  const Expr s = context.integer(stride);
  const Expr span = input + padding * 2 - (dilation * (kernel - 1) + 1);
  if (!ceil_mode) return floor_div(span, s) + 1;
  const Expr size = floor_div(span + (stride - 1), s) + 1;
  // The last window must start inside the input or its left padding.
  return select(le(input + padding, (size - 1) * stride), size - 1, size);
}

std::vector<TensorMeta> shape_max_pool(const RuleCall& call) {
  TensorMeta values = call.fresh(call.tensor(0).dtype, pooled_sizes(call, 2));
  TensorMeta indices = values;
  indices.dtype = DType::kInt64;
  return {values, indices};
}

std::vector<TensorMeta> shape_avg_pool(const RuleCall& call) { return {call.fresh(call.tensor(0).dtype, pooled_sizes(call, 2))}; }

std::vector<TensorMeta> shape_adaptive_pool(const RuleCall& call) {
  const TensorMeta& input = call.tensor(0);
  std::vector<Expr> sizes = input.sizes, out = call.exprs("output_size");
  for (size_t i = 0; i < out.size(); ++i) sizes[sizes.size() - out.size() + i] = out[i];
  return {call.fresh(input.dtype, std::move(sizes))};
}

std::vector<TensorMeta> shape_mm(const RuleCall& call) { return product_of(call, 0, 1); }
std::vector<TensorMeta> shape_bmm(const RuleCall& call) { return product_of(call, 0, 1); }
std::vector<TensorMeta> shape_addmm(const RuleCall& call) { return product_of(call, 1, 2); }
std::vector<TensorMeta> shape_baddbmm(const RuleCall& call) { return product_of(call, 1, 2); }

std::vector<TensorMeta> shape_convolution(const RuleCall& call) {
  const TensorMeta &input = call.tensor(0), &weight = call.tensor(1);
  if (input.rank() != weight.rank() || input.rank() < 3) user_error("{}: {} and {} dimensions", call.op.name, input.rank(), weight.rank());
  const auto stride = call.integers("stride"), dilation = call.integers("dilation"), extra = call.integers("output_padding");
  const auto padding = call.exprs("padding");
  const bool transposed = call.argument("transposed").as<bool>();
  const Expr groups = call.expr(call.argument("groups"));
  std::vector<Expr> sizes{input.sizes[0], transposed ? weight.sizes[1] * groups : weight.sizes[0]};
  for (size_t i = 0; i + 2 < input.rank(); ++i) {
    const Expr n = input.sizes[i + 2], kernel = weight.sizes[i + 2];
    const Expr s = call.context.integer(at(stride, i)), reach = (kernel - 1) * at(dilation, i);
    sizes.push_back(transposed ? (n - 1) * s - at(padding, i) * 2 + reach + at(extra, i) + 1
                               : floor_div(n + at(padding, i) * 2 - reach - 1, s) + 1);
  }
  return {call.fresh(input.dtype, std::move(sizes))};
}

}  // namespace litz
