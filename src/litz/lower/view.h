#pragma once
// What a tensor of the graph is during lowering: a buffer seen through a map of coordinates. Views of any depth are one map.
#include <vector>

#include "litz/loop/program.h"

namespace litz {

struct View {
  Buffer* buffer = nullptr;
  std::vector<Expr> sizes;
  std::vector<Expr> axes;         // symbols, one per dimension of the view
  std::vector<Expr> coordinates;  // of the buffer, over the axes
  DType dtype = DType::kFloat32;  // differs from the buffer's for view.dtype: the same bits

  size_t rank() const { return sizes.size(); }
  bool is_whole() const { return coordinates == axes && sizes == buffer->sizes && dtype == buffer->dtype; }
  /// The buffer's coordinates at a place of the view.
  std::vector<Expr> at(std::span<const Expr> index) const;
};

View whole_view(ExprContext& context, Buffer* buffer);
/// A view of a view: `index` gives the outer view's place in `inner` as expressions over `axes`.
View compose(const View& inner, std::vector<Expr> sizes, std::vector<Expr> axes, std::span<const Expr> index);
std::vector<Expr> new_axes(ExprContext& context, std::span<const Expr> sizes, char letter);

/// The same elements in row-major order under another shape. Dimensions that stay are passed through; only what is split or merged
/// becomes a quotient or remainder.
View reshape(ExprContext& context, const View& view, std::vector<Expr> sizes);
View permute(ExprContext& context, const View& view, std::span<const int64_t> dims);
/// Right-aligned broadcasting to a shape.
View expand(ExprContext& context, const View& view, std::vector<Expr> sizes);
View unsqueeze(ExprContext& context, const View& view, int dim);
/// Index of a smaller or equal shape inside a broadcast shape: right-aligned, 0 where the size is 1.
std::vector<Expr> broadcast_index(ExprContext& context, std::span<const Expr> sizes, std::span<const Expr> index);

/// Strides of the view when its buffer has these strides; nullopt when no strides describe it. Dimensions of size 1 get those of a
/// row-major tensor.
struct StridedForm {
  std::vector<Expr> strides;
  Expr offset;
};
std::optional<StridedForm> strided_form(ExprContext& context, const View& view, std::span<const Expr> buffer_strides, Expr buffer_offset);
/// True if every coordinate is affine in the axes: then any strides of the buffer give strides of the view.
bool is_affine(const View& view);
/// Same tensor in memory: strides of dimensions of size 1 do not matter.
bool same_strides(std::span<const Expr> sizes, std::span<const Expr> a, std::span<const Expr> b);

}  // namespace litz
