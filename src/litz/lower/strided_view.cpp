#include "litz/lower/strided_view.h"

#include <algorithm>
#include <numeric>

#include "litz/symbolic/prove.h"

namespace litz {

Expr wrap_index(ExprContext& context, Expr index, Expr size) {
  ValueRange r = index.range();
  if (r.lower >= 0) return index;
  if (r.upper < 0) return index + size;
  return select(lt(index, context.integer(0)), index + size, index);
}

Expr slice_start(ExprContext& context, Expr start, Expr size) {
  if (!start) return context.integer(0);
  Expr wrapped = wrap_index(context, start, size);
  return max(context.integer(0), min(wrapped, size));
}

View slice_view(Lowering& lowering, const View& self, int dim, Expr start, Expr step, Expr length) {
  std::vector<Expr> sizes = self.sizes;
  sizes[static_cast<size_t>(dim)] = length;
  std::vector<Expr> axes = new_axes(lowering.context(), sizes, 'a'), index = axes;
  index[static_cast<size_t>(dim)] = start + axes[static_cast<size_t>(dim)] * step;
  return compose(self, std::move(sizes), std::move(axes), index);
}

View select_view(Lowering& lowering, const View& self, int dim, Expr at) {
  std::vector<Expr> sizes = self.sizes;
  sizes.erase(sizes.begin() + dim);
  std::vector<Expr> axes = new_axes(lowering.context(), sizes, 'a'), index = axes;
  index.insert(index.begin() + dim, at);
  return compose(self, std::move(sizes), std::move(axes), index);
}

View diagonal_view(Lowering& lowering, const View& self, int64_t offset, int dim1, int dim2, Expr length) {
  std::vector<Expr> sizes;
  for (size_t d = 0; d < self.rank(); ++d)
    if (static_cast<int>(d) != dim1 && static_cast<int>(d) != dim2) sizes.push_back(self.sizes[d]);
  sizes.push_back(length);
  std::vector<Expr> axes = new_axes(lowering.context(), sizes, 'a'), index;
  size_t next = 0;
  for (size_t d = 0; d < self.rank(); ++d) {
    if (static_cast<int>(d) == dim1) index.push_back(axes.back() + std::max<int64_t>(-offset, 0));
    else if (static_cast<int>(d) == dim2) index.push_back(axes.back() + std::max<int64_t>(offset, 0));
    else index.push_back(axes[next++]);
  }
  return compose(self, std::move(sizes), std::move(axes), index);
}

namespace {

/// Dimensions by falling stride, if the tensor fills its storage without gaps or overlap.
std::optional<std::vector<size_t>> dense_dims(std::span<const Expr> sizes, std::span<const Expr> strides, ExprContext& context) {
  std::vector<size_t> left(sizes.size()), order;
  std::iota(left.begin(), left.end(), size_t{0});
  Expr step = context.integer(1);
  while (!left.empty()) {
    auto it = std::find_if(left.rbegin(), left.rend(), [&](size_t d) { return sizes[d].is_integer(1) || strides[d] == step; });
    if (it == left.rend()) return std::nullopt;
    order.insert(order.begin(), *it);
    if (!sizes[*it].is_integer(1)) step = step * sizes[*it];
    left.erase(std::next(it).base());
  }
  return order;
}

}  // namespace

Result<View> strided_view(Lowering& lowering, const View& base, std::span<const Expr> sizes, std::span<const Expr> strides, Expr offset) {
  Buffer* b = base.buffer;
  if (base.dtype != b->dtype) return unsupported("as_strided of a view with another element type");
  if (b->layout.base) return unsupported("as_strided of what a view op of the framework gives");
  const TensorMeta* meta = lowering.eager_meta(first_version(b));
  if (!meta && b->layout.kind != LayoutKind::kStrided) return unsupported("as_strided of a tensor whose strides in eager are not known");
  std::span<const Expr> eager_strides = meta ? meta->strides : b->layout.strides;
  std::span<const Expr> eager_sizes = meta ? meta->sizes : b->sizes;
  ExprContext& context = lowering.context();
  std::optional<std::vector<size_t>> order = dense_dims(eager_sizes, eager_strides, context);
  if (!order) return unsupported("as_strided on storage with gaps or overlaps");
  bool is_same_shape = std::equal(eager_sizes.begin(), eager_sizes.end(), b->sizes.begin(), b->sizes.end());
  if (!is_same_shape) {
    // The buffer lacks dimensions of size 1: the same row-major order of elements.
    if (!same_strides(eager_sizes, eager_strides, contiguous_strides(context, eager_sizes)))
      return unsupported("as_strided on a permuted tensor of another shape");
    order->resize(b->sizes.size());
    std::iota(order->begin(), order->end(), size_t{0});
  }
  std::vector<Expr> result_sizes(sizes.begin(), sizes.end());
  std::vector<Expr> axes = new_axes(context, result_sizes, 'a');
  Expr start = b->layout.offset ? b->layout.offset : context.integer(0);
  Expr position = offset - start;
  for (size_t d = 0; d < axes.size(); ++d)
    if (!result_sizes[d].is_integer(1)) position = position + axes[d] * strides[d];
  // The storage of what the call computes is the tensor itself; that of an input may go on before and behind it.
  if (b->kind != BufferKind::kComputed && !prove_in_range(position, product(context, b->sizes)))
    return unsupported("as_strided that may leave the input");
  std::vector<Expr> ordered_sizes;
  for (size_t d : *order) ordered_sizes.push_back(b->sizes[d]);
  std::vector<Expr> back = ordered_sizes.empty() ? std::vector<Expr>{} : unflatten(position, ordered_sizes);
  std::vector<Expr> index(b->sizes.size());
  for (size_t k = 0; k < order->size(); ++k) index[(*order)[k]] = back[k];
  return compose(whole_view(context, b), std::move(result_sizes), std::move(axes), index);
}

}  // namespace litz
