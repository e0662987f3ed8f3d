#include "litz/lower/view.h"

#include <algorithm>

namespace litz {

std::vector<Expr> View::at(std::span<const Expr> index) const {
  LITZ_CHECK(index.size() == axes.size(), "a view of {} dimensions indexed with {}", axes.size(), index.size());
  if (coordinates == axes) return {index.begin(), index.end()};
  Substitution map;
  for (size_t d = 0; d < axes.size(); ++d) map.emplace_back(axes[d], index[d]);
  return substitute(std::span<const Expr>(coordinates), map);
}

std::vector<Expr> new_axes(ExprContext& context, std::span<const Expr> sizes, char letter) {
  std::vector<Expr> axes;
  for (size_t d = 0; d < sizes.size(); ++d) axes.push_back(context.axis(fmt::format("{}{}", letter, d), sizes[d]));
  return axes;
}

View whole_view(ExprContext& context, Buffer* buffer) {
  View v;
  v.buffer = buffer;
  v.sizes = buffer->sizes;
  v.axes = new_axes(context, v.sizes, 'a');
  v.coordinates = v.axes;
  v.dtype = buffer->dtype;
  return v;
}

View compose(const View& inner, std::vector<Expr> sizes, std::vector<Expr> axes, std::span<const Expr> index) {
  View v;
  v.buffer = inner.buffer;
  v.coordinates = inner.at(index);
  v.sizes = std::move(sizes);
  v.axes = std::move(axes);
  v.dtype = inner.dtype;
  return v;
}

namespace {

bool is_one(Expr e) { return e.is_integer(1); }

/// Runs of dimensions of both shapes that hold the same number of elements.
struct Run {
  std::vector<size_t> from, to;
};

std::vector<Run> match_runs(std::span<const Expr> from, std::span<const Expr> to) {
  std::vector<Run> runs;
  size_t i = 0, j = 0;
  auto skip_ones = [&] {
    while (i < from.size() && is_one(from[i])) ++i;
    while (j < to.size() && is_one(to[j])) ++j;
  };
  for (skip_ones(); i < from.size() || j < to.size(); skip_ones()) {
    Run run;
    // Grow the side with fewer elements until both agree; with symbolic sizes that can't be ordered, take the rest.
    if (i == from.size() || j == to.size()) {
      for (; i < from.size(); ++i) run.from.push_back(i);
      for (; j < to.size(); ++j) run.to.push_back(j);
      runs.push_back(std::move(run));
      break;
    }
    Expr a = from[i], b = to[j];
    run.from.push_back(i++);
    run.to.push_back(j++);
    while (!(a == b)) {
      bool a_is_less = lt(a, b).is_integer(1), b_is_less = lt(b, a).is_integer(1);
      if (!a_is_less && !b_is_less) {
        // A symbolic factor on one side only: the side without it must grow.
        a_is_less = a.is_integer() && !b.is_integer();
        b_is_less = b.is_integer() && !a.is_integer();
      }
      if (a_is_less && i < from.size()) {
        a = a * from[i];
        run.from.push_back(i++);
      } else if (b_is_less && j < to.size()) {
        b = b * to[j];
        run.to.push_back(j++);
      } else if (i < from.size() && !b_is_less) {
        a = a * from[i];
        run.from.push_back(i++);
      } else if (j < to.size()) {
        b = b * to[j];
        run.to.push_back(j++);
      } else if (i < from.size()) {
        a = a * from[i];
        run.from.push_back(i++);
      } else {
        break;
      }
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

View reshape(ExprContext& context, const View& view, std::vector<Expr> sizes) {
  std::vector<Expr> axes = new_axes(context, sizes, 'a');
  std::vector<Expr> index(view.rank(), context.integer(0));
  for (const Run& run : match_runs(view.sizes, sizes)) {
    if (run.from.size() == 1 && run.to.size() == 1) {
      index[run.from[0]] = axes[run.to[0]];
      continue;
    }
    std::vector<Expr> at, shape, from_shape;
    for (size_t d : run.to) {
      at.push_back(axes[d]);
      shape.push_back(sizes[d]);
    }
    for (size_t d : run.from) from_shape.push_back(view.sizes[d]);
    Expr position = at.empty() ? context.integer(0) : flatten(context, at, shape);
    if (from_shape.empty()) continue;
    std::vector<Expr> back = unflatten(position, from_shape);
    for (size_t k = 0; k < run.from.size(); ++k) index[run.from[k]] = back[k];
  }
  return compose(view, std::move(sizes), std::move(axes), index);
}

View permute(ExprContext& context, const View& view, std::span<const int64_t> dims) {
  std::vector<Expr> sizes;
  for (int64_t d : dims) sizes.push_back(view.sizes[static_cast<size_t>(d)]);
  std::vector<Expr> axes = new_axes(context, sizes, 'a'), index(view.rank());
  for (size_t k = 0; k < dims.size(); ++k) index[static_cast<size_t>(dims[k])] = axes[k];
  return compose(view, std::move(sizes), std::move(axes), index);
}

std::vector<Expr> broadcast_index(ExprContext& context, std::span<const Expr> sizes, std::span<const Expr> index) {
  LITZ_CHECK(sizes.size() <= index.size(), "a shape of {} dimensions broadcast to {}", sizes.size(), index.size());
  std::vector<Expr> result;
  size_t skipped = index.size() - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) result.push_back(is_one(sizes[d]) ? context.integer(0) : index[d + skipped]);
  return result;
}

View expand(ExprContext& context, const View& view, std::vector<Expr> sizes) {
  if (sizes == view.sizes) return view;
  std::vector<Expr> axes = new_axes(context, sizes, 'a');
  std::vector<Expr> index = broadcast_index(context, view.sizes, axes);
  return compose(view, std::move(sizes), std::move(axes), index);
}

View unsqueeze(ExprContext& context, const View& view, int dim) {
  std::vector<Expr> sizes = view.sizes;
  sizes.insert(sizes.begin() + dim, context.integer(1));
  std::vector<Expr> axes = new_axes(context, sizes, 'a'), index = axes;
  index.erase(index.begin() + dim);
  return compose(view, std::move(sizes), std::move(axes), index);
}

std::optional<StridedForm> strided_form(ExprContext& context, const View& view, std::span<const Expr> buffer_strides, Expr buffer_offset) {
  Expr position = buffer_offset ? buffer_offset : context.integer(0);
  for (size_t k = 0; k < view.coordinates.size(); ++k) position = position + view.coordinates[k] * buffer_strides[k];
  // An axis of extent 1 is always 0.
  Substitution zeros;
  std::vector<Expr> axes;
  for (size_t d = 0; d < view.axes.size(); ++d) {
    if (is_one(view.sizes[d])) zeros.emplace_back(view.axes[d], context.integer(0));
    else axes.push_back(view.axes[d]);
  }
  if (!zeros.empty()) position = substitute(position, zeros);
  std::optional<LinearForm> form = linear_form(position, axes);
  if (!form) return std::nullopt;
  StridedForm result;
  result.offset = form->rest;
  result.strides.resize(view.rank());
  size_t next = 0;
  for (size_t d = 0; d < view.rank(); ++d)
    if (!is_one(view.sizes[d])) result.strides[d] = form->coefficients[next++];
  for (size_t d = view.rank(); d-- > 0;)
    if (!result.strides[d]) result.strides[d] = d + 1 < view.rank() ? result.strides[d + 1] * view.sizes[d + 1] : context.integer(1);
  return result;
}

bool is_affine(const View& view) {
  if (view.coordinates == view.axes) return true;
  for (Expr e : view.coordinates)
    if (!linear_form(e, view.axes)) return false;
  return true;
}

bool same_strides(std::span<const Expr> sizes, std::span<const Expr> a, std::span<const Expr> b) {
  for (size_t d = 0; d < sizes.size(); ++d)
    if (is_one(sizes[d]) || sizes[d].is_integer(0)) continue;
    else if (!(a[d] == b[d]) && !eq(a[d], b[d]).is_integer(1)) return false;
  return true;
}

}  // namespace litz
