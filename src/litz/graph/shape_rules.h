#pragma once
// Sizes, strides and types of the primitives' results, as eager has them. A rule gets the call with all arguments in the schema's
// order and gives the metadata of each result; wrong shapes throw UserError. Strides: exact for views and for results that eager
// lays out row-major; pointwise results follow their operands as in TensorIterator.
#include <span>
#include <vector>

#include "litz/graph/graph.h"

namespace litz {

enum class TypeRule : uint8_t { kPromote, kPromoteFloat, kBool, kIndex, kFirst, kFirstIndex, kRealOf, kSumType, kArgument, kCustom };

struct RuleCall {
  ExprContext& context;
  const OpSchema& op;
  std::span<const Argument> arguments;
  TypeRule type_rule;

  const Argument& argument(std::string_view name) const;
  const TensorMeta& tensor(int index) const;  // checked: a tensor stands there
  /// The first tensor among the arguments, lists included.
  const TensorMeta& first_tensor() const;
  int64_t integer(std::string_view name) const;
  Expr expr(const Argument& a) const;  // integers become expressions
  std::vector<Expr> exprs(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  /// The leading tensors and numbers: what type promotion looks at.
  std::span<const Argument> operands() const;
  /// Element type of the result by the row's rule.
  DType result_dtype() const;
  /// A row-major result on the first tensor's device.
  TensorMeta fresh(DType dtype, std::vector<Expr> sizes) const;
};

/// Results of a call of a primitive, by its row in ops.def.
std::vector<TensorMeta> infer_results(ExprContext& context, const OpSchema& op, std::span<const Argument> arguments);

using ShapeRule = std::vector<TensorMeta> (*)(const RuleCall&);

/// 0 <= result < rank (a tensor without dimensions counts as one with one); throws UserError as eager's IndexError.
int64_t wrap_dim(int64_t dim, size_t rank);
/// Broadcast of one dimension. Where neither side is proven to be 1 or equal to the other, a side that cannot be 1 decides, because the
/// op would fail otherwise. Throws UserError for sizes that differ, and where nothing decides.
Expr broadcast_size(Expr a, Expr b);
std::vector<Expr> broadcast_shapes(ExprContext& context, std::span<const std::vector<Expr>> shapes);
/// Row-major for sizes in which dimensions of size 1 do not count.
bool is_contiguous(const TensorMeta& meta);
/// Strides of a view with the new sizes, or nullopt where none exists or none can be proven.
std::optional<std::vector<Expr>> view_strides(ExprContext& context, const TensorMeta& meta, std::span<const Expr> sizes);
/// Replaces -1 by what remains.
std::vector<Expr> resolve_sizes(ExprContext& context, std::span<const Expr> from, std::vector<Expr> sizes);
/// The value the expression had at capture, for choosing a layout; nullopt without hints.
std::optional<int64_t> value_at_capture(Expr e);
/// One output dimension of pooling or convolution, as eager's pooling_output_shape.
Expr pool_size(Expr input, int64_t kernel, Expr padding, int64_t stride, int64_t dilation, bool ceil_mode);

// clang-format off
#define LITZ_SHAPE_RULES(X)                                                                                               \
  X(broadcast) X(same_shape) X(same_pair) X(device_copy) X(reduce) X(reduce_one) X(reduce_pair) X(view) X(reshape)        \
  X(permute) X(expand) X(slice) X(select) X(unsqueeze) X(squeeze) X(same_view) X(as_strided) X(unfold) X(diagonal)        \
  X(view_dtype) X(cat) X(pad) X(gather) X(index) X(embedding) X(full) X(iota) X(max_pool) X(avg_pool) X(adaptive_pool)    \
  X(mm) X(addmm) X(bmm) X(baddbmm) X(convolution)
// clang-format on
#define LITZ_DECLARE_RULE(name) std::vector<TensorMeta> shape_##name(const RuleCall& call);
LITZ_SHAPE_RULES(LITZ_DECLARE_RULE)
#undef LITZ_DECLARE_RULE

}  // namespace litz
