// Pooling over the last two dimensions. Small windows are written out in the body, so that rows of the result are computed together;
// large ones are reductions.
#include "litz/lower/lowering.h"
#include "litz/lower/window.h"

namespace litz {

namespace {

constexpr int64_t kUnrolledWindow = 25;

Number lowest_number(DType dtype) { return reduction_identity(ReductionKind::kMax, dtype); }

std::vector<View> max_pool_unrolled(Lowering& lowering, const Node& node, const View& self, const Window& w, bool wants_index) {
  size_t h = self.rank() - 2;
  std::vector<int> outputs{0};
  if (wants_index) outputs.push_back(1);
  return lowering.pointwise_many(node, outputs, [&](BodyBuilder& b, std::span<const Expr> index) {
    ValueId best = kNoValue, best_index = kNoValue;
    ValueId lowest = b.constant(self.dtype, lowest_number(self.dtype));
    for (int64_t kh = 0; kh < w.kernel[0]; ++kh)
      for (int64_t kw = 0; kw < w.kernel[1]; ++kw) {
        WindowPlace p = place_in_window(self, index, w, lowering.integer(kh), lowering.integer(kw));
        ValueId valid = lowering.inside(b, p.bounds);
        ValueId v = lowering.load(b, self, p.at, valid);
        ValueId seen = valid == kNoValue ? v : b.where(valid, v, lowest);
        if (!wants_index) {
          best = best == kNoValue ? seen : b.maximum(best, seen);
          continue;
        }
        ValueId position = b.index_expr(p.at[h] * self.sizes[h + 1] + p.at[h + 1]);
        if (best == kNoValue) {
          best = seen;
          best_index = valid == kNoValue ? position : b.where(valid, position, b.constant(DType::kInt64, -1.0));
          continue;
        }
        // Eager takes a value that is greater or NaN; the first valid place stands when nothing is greater than -inf.
        ValueId takes = b.gt(seen, best);
        if (is_floating(self.dtype)) takes = b.logical_or(takes, b.isnan(seen));
        ValueId is_first = b.lt(best_index, b.constant(DType::kInt64, 0.0));
        if (valid != kNoValue) {
          takes = b.logical_and(takes, valid);
          is_first = b.logical_and(is_first, valid);
        }
        takes = b.logical_or(takes, is_first);
        best = b.where(takes, seen, best);
        best_index = b.where(takes, position, best_index);
      }
    return wants_index ? std::vector{best, best_index} : std::vector{best};
  });
}

std::vector<View> max_pool_reduced(Lowering& lowering, const Node& node, const View& self, const Window& w) {
  std::vector<Expr> sizes = node.outputs[0].sizes;
  size_t h = self.rank() - 2;
  sizes.push_back(lowering.integer(w.kernel[0]));
  sizes.push_back(lowering.integer(w.kernel[1]));
  std::vector<bool> reduced(sizes.size(), false);
  reduced[sizes.size() - 1] = reduced[sizes.size() - 2] = true;
  return lowering.reduce(node, {ReductionKind::kMaxWithIndex, self.dtype, {self.dtype, DType::kInt64}, {node.name, node.name + "_1"}},
                         sizes, reduced, [&](BodyBuilder& b, std::span<const Expr> index, std::span<const Expr> r) {
                           WindowPlace p = place_in_window(self, index.first(self.rank()), w, r[0], r[1]);
                           ValueId valid = lowering.inside(b, p.bounds);
                           ValueId v = lowering.load(b, self, p.at, valid);
                           ValueId position = b.index_expr(p.at[h] * self.sizes[h + 1] + p.at[h + 1]);
                           if (valid == kNoValue) return std::vector{v, position};
                           return std::vector{b.where(valid, v, b.constant(self.dtype, lowest_number(self.dtype))),
                                              b.where(valid, position, b.constant(DType::kInt64, Number::of(kNoIndex)))};
                         });
}

LoweringResult lower_max_pool(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  Window w;
  w.kernel = two_of(in.integers("kernel_size"), {1, 1});
  w.stride = two_of(in.integers("stride"), w.kernel);
  w.padding = two_of(in.integers("padding"), {0, 0});
  w.dilation = two_of(in.integers("dilation"), {1, 1});
  if (w.kernel[0] * w.kernel[1] <= kUnrolledWindow) return max_pool_unrolled(lowering, node, self, w, lowering.is_used(node, 1));
  return max_pool_reduced(lowering, node, self, w);
}

/// Sum over a window in opmath; out-of-range places give 0.
View window_sum(Lowering& lowering, const Node& node, const View& self, const Window& w, DType wide) {
  std::vector<Expr> sizes = node.outputs[0].sizes;
  sizes.push_back(lowering.integer(w.kernel[0]));
  sizes.push_back(lowering.integer(w.kernel[1]));
  std::vector<bool> reduced(sizes.size(), false);
  reduced[sizes.size() - 1] = reduced[sizes.size() - 2] = true;
  return lowering.reduce(node, {ReductionKind::kSum, wide, {wide}, {node.name + "_sum"}}, sizes, reduced,
                         [&](BodyBuilder& b, std::span<const Expr> index, std::span<const Expr> r) {
                           WindowPlace p = place_in_window(self, index.first(self.rank()), w, r[0], r[1]);
                           return std::vector{b.cast(lowering.load(b, self, p.at, lowering.inside(b, p.bounds)), wide)};
                         })[0];
}

/// How many places an average counts: eager's pool_size, an expression over the output's axes.
Expr counted_places(Lowering& lowering, const View& self, std::span<const Expr> index, const Window& w, bool count_include_pad) {
  Expr count = lowering.integer(1);
  for (size_t k = 0; k < 2; ++k) {
    size_t d = self.rank() - 2 + k;
    Expr start = index[d] * w.stride[k] - w.padding[k];
    Expr end = min(start + w.kernel[k], self.sizes[d] + w.padding[k]);
    if (!count_include_pad) {
      start = max(start, lowering.integer(0));
      end = min(end, self.sizes[d]);
    }
    count = count * (end - start);
  }
  return count;
}

LoweringResult lower_avg_pool(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  if (!is_floating(self.dtype)) return unsupported("averages of {}", dtype_name(self.dtype));
  Window w;
  w.kernel = two_of(in.integers("kernel_size"), {1, 1});
  w.stride = two_of(in.integers("stride"), w.kernel);
  w.padding = two_of(in.integers("padding"), {0, 0});
  bool count_include_pad = in.boolean("count_include_pad");
  std::optional<int64_t> divisor = in.optional_integer("divisor_override");
  DType wide = opmath_type(self.dtype);
  std::optional<View> total;
  if (w.kernel[0] * w.kernel[1] > kUnrolledWindow) total = window_sum(lowering, node, self, w, wide);
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    ValueId sum = kNoValue;
    if (total) {
      sum = lowering.load(b, *total, index);
    } else {
      for (int64_t kh = 0; kh < w.kernel[0]; ++kh)
        for (int64_t kw = 0; kw < w.kernel[1]; ++kw) {
          WindowPlace p = place_in_window(self, index, w, lowering.integer(kh), lowering.integer(kw));
          ValueId v = b.cast(lowering.load(b, self, p.at, lowering.inside(b, p.bounds)), wide);
          sum = sum == kNoValue ? v : b.add(sum, v);
        }
    }
    Expr count = divisor ? lowering.integer(*divisor) : counted_places(lowering, self, index, w, count_include_pad);
    return b.div(sum, b.cast(b.index_expr(count), wide));
  })};
}

LoweringResult lower_adaptive_avg_pool(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  if (!is_floating(self.dtype)) return unsupported("averages of {}", dtype_name(self.dtype));
  const std::vector<Expr>& out = node.outputs[0].sizes;
  size_t h = self.rank() - 2;
  DType wide = opmath_type(self.dtype);
  // Output i averages [floor(i * size / out), ceil((i + 1) * size / out)).
  auto start = [&](size_t d, Expr i) { return floor_div(i * self.sizes[d], out[d]); };
  auto end = [&](size_t d, Expr i) { return ceil_div((i + 1) * self.sizes[d], out[d]); };
  std::vector<Expr> sizes = out;
  for (size_t d : {h, h + 1}) {
    bool divides = mod(self.sizes[d], out[d]).is_integer(0);
    sizes.push_back(divides ? floor_div(self.sizes[d], out[d]) : ceil_div(self.sizes[d], out[d]) + 1);
  }
  std::vector<bool> reduced(sizes.size(), false);
  reduced[sizes.size() - 1] = reduced[sizes.size() - 2] = true;
  View total = lowering.reduce(node, {ReductionKind::kSum, wide, {wide}, {node.name + "_sum"}}, sizes, reduced,
                               [&](BodyBuilder& b, std::span<const Expr> index, std::span<const Expr> r) {
                                 std::vector<Expr> at(index.begin(), index.begin() + static_cast<ptrdiff_t>(self.rank()));
                                 Expr is_inside = lowering.integer(1);
                                 for (size_t k = 0; k < 2; ++k) {
                                   at[h + k] = start(h + k, index[h + k]) + r[k];
                                   is_inside = logical_and(is_inside, lt(at[h + k], end(h + k, index[h + k])));
                                 }
                                 return std::vector{b.cast(lowering.load(b, self, at, lowering.predicate(b, is_inside)), wide)};
                               })[0];
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    Expr count = lowering.integer(1);
    for (size_t d : {h, h + 1}) count = count * (end(d, index[d]) - start(d, index[d]));
    return b.div(lowering.load(b, total, index), b.cast(b.index_expr(count), wide));
  })};
}

constexpr LoweringEntry kTable[] = {
    {"aten.max_pool2d_with_indices", lower_max_pool},
    {"aten.avg_pool2d", lower_avg_pool},
    {"aten._adaptive_avg_pool2d", lower_adaptive_avg_pool},
};

}  // namespace

std::span<const LoweringEntry> pool_lowerings() { return kTable; }

}  // namespace litz
