// Pools with equal windows, and the derivatives of pools.
#include "litz/decompose/indexing.h"

namespace litz {
namespace {

/// Window sizes when every output sees the same number of inputs, side by side. Eager refuses images without pixels.
std::optional<std::vector<Expr>> equal_windows(Rewrite& r, const TensorMeta& in, const TensorMeta& out) {
  std::vector<Expr> windows;
  for (size_t i = in.rank() - 2; i < in.rank(); ++i) {
    if (in.sizes[i].range().lower < 1 || out.sizes[i].range().lower < 1 || !mod(in.sizes[i], out.sizes[i]).is_integer(0))
      return std::nullopt;
    windows.push_back(floor_div(in.sizes[i], out.sizes[i]));
  }
  return windows;
}

/// [.., oh, kh, ow, kw]
std::vector<Expr> windowed_sizes(const TensorMeta& out, const std::vector<Expr>& windows) {
  std::vector<Expr> sizes(out.sizes.begin(), out.sizes.end() - 2);
  sizes.insert(sizes.end(), {out.sizes[out.rank() - 2], windows[0], out.sizes[out.rank() - 1], windows[1]});
  return sizes;
}

Replacement adaptive_avg_pool(Rewrite& r) {
  const Value x = r.tensor("self");
  const auto windows = equal_windows(r, x.meta(), r.out());
  if (!windows || !is_floating(r.out().dtype)) return {};
  const Value split = r.b.reshape(r.opmath(x), windowed_sizes(r.out(), *windows));
  const int64_t rank = static_cast<int64_t>(split.meta().rank());
  const int64_t dims[] = {rank - 3, rank - 1};
  return {r.result(r.b.div(r.b.sum(split, dims, false), GraphBuilder::size_argument((*windows)[0] * (*windows)[1])))};
}

Replacement adaptive_avg_pool_backward(Rewrite& r) {
  const Value grad = r.opmath(r.tensor("grad_output"));
  const auto windows = equal_windows(r, r.out(), grad.meta());
  if (!windows) return {};
  const Value share = r.b.div(grad, GraphBuilder::size_argument((*windows)[0] * (*windows)[1]));
  const Expr one = r.constant(1);
  const Value split = r.b.reshape(share, windowed_sizes(grad.meta(), {one, one}));
  return {r.result(r.b.reshape(r.b.expand(split, windowed_sizes(grad.meta(), *windows)), r.out().sizes))};
}

Replacement adaptive_max_pool(Rewrite& r) {
  const Value x = r.tensor("self");
  const auto windows = equal_windows(r, x.meta(), r.out());
  if (!windows || !(*windows)[0].is_integer() || !(*windows)[1].is_integer()) return {};
  const ArgumentList kernel = GraphBuilder::size_list(*windows);
  Node* n = r.b.node("aten.max_pool2d_with_indices", {x, kernel, kernel});
  return {n->value(0), n->value(1)};
}

/// Each output's gradient goes to the element that was the maximum: its index counts within one plane.
Replacement max_pool_backward(Rewrite& r) {
  const Value grad = r.opmath(r.tensor("grad_output")), indices = r.tensor("indices");
  auto planes = [&](const TensorMeta& m) {
    std::vector<Expr> sizes(m.sizes.begin(), m.sizes.end() - 2);
    sizes.push_back(m.sizes[m.rank() - 2] * m.sizes[m.rank() - 1]);
    return sizes;
  };
  const Value zeros = r.b.full(planes(r.out()), int64_t{0}, grad.meta().dtype, r.out().device);
  const Value added = r.b.call("aten.scatter_add",
                               {zeros, int64_t{-1}, r.b.reshape(indices, planes(indices.meta())), r.b.reshape(grad, planes(grad.meta()))});
  return {r.result(r.b.reshape(added, r.out().sizes))};
}

int64_t at(const std::vector<int64_t>& list, size_t i) { return list.size() == 1 ? list[0] : list[i]; }

/// One of the windows that may contain an input position: the windows' index, whether it does, and its size.
struct Window {
  Value position, is_inside, extent;
};

Window window(Rewrite& r, Expr in, Expr out, int64_t kernel, int64_t stride, int64_t padding, bool include_pad, int64_t back) {
  const Value shifted = r.b.iota(in, r.out().device, padding);  // position + padding
  auto clipped = [&](Value v, Argument low, Argument high) { return r.b.call("aten.minimum", {r.b.call("aten.maximum", {v, low}), high}); };
  const Value raw = r.b.sub(r.b.call("aten.div.Tensor_mode", {shifted, stride, std::string("floor")}), back);
  const Value position = clipped(raw, int64_t{0}, GraphBuilder::size_argument(out - 1));
  const Value start = r.b.mul(position, stride);  // in padded coordinates
  const Value is_near = r.b.lt(r.b.sub(shifted, start), kernel);
  const Value is_inside = r.b.call("aten.logical_and", {r.b.eq(raw, position), is_near});
  Value begin = start, end = r.b.call("aten.minimum", {r.b.add(start, kernel), GraphBuilder::size_argument(in + 2 * padding)});
  if (!include_pad) {
    begin = clipped(begin, padding, GraphBuilder::size_argument(in + padding));
    end = clipped(end, padding, GraphBuilder::size_argument(in + padding));
  }
  return {position, is_inside, r.b.sub(end, begin)};
}

Replacement avg_pool_backward(Rewrite& r) {
  const Value grad = r.opmath(r.tensor("grad_output"));
  const auto kernel = r.integers("kernel_size"), padding = r.integers("padding");
  auto stride = r.integers("stride");
  if (stride.empty()) stride = kernel;
  const bool include_pad = r.flag("count_include_pad");
  const size_t rank = r.out().rank();
  auto windows = [&](size_t i) {
    std::vector<Window> all;
    const int64_t k = at(kernel, i), s = at(stride, i);
    for (int64_t back = 0; back * s < k; ++back)
      all.push_back(window(r, r.out().sizes[rank - 2 + i], grad.meta().sizes[rank - 2 + i], k, s, at(padding, i), include_pad, back));
    return all;
  };
  const auto rows = windows(0), columns = windows(1);
  Value total;
  for (const Window& row : rows)
    for (const Window& column : columns) {
      const Value places[] = {row.position, column.position};
      Value g = gather_at(r, grad, places);
      if (r.has("divisor_override")) g = r.b.div(g, r.argument("divisor_override"));
      else g = r.b.div(g, r.b.mul(along(r, row.extent, 0, 2), column.extent));
      g = r.b.where(r.b.call("aten.logical_and", {along(r, row.is_inside, 0, 2), column.is_inside}), g, 0.0);
      total = total ? r.b.add(total, g) : g;
    }
  return {r.result(total)};
}

constexpr Decomposition kRows[] = {
    {"aten._adaptive_avg_pool2d", adaptive_avg_pool}, {"aten._adaptive_avg_pool2d_backward", adaptive_avg_pool_backward},
    {"aten.adaptive_max_pool2d", adaptive_max_pool},  {"aten.max_pool2d_with_indices_backward", max_pool_backward},
    {"aten.avg_pool2d_backward", avg_pool_backward},
};

}  // namespace

std::span<const Decomposition> pooling_decompositions() { return kRows; }

}  // namespace litz
