// Upsampling as reads at computed places. Scales and source positions are computed in eager's type (float32, float64 for float64
// tensors) with eager's operations, because a place off by one is a wrong pixel.
#include <algorithm>
#include <cmath>

#include "litz/decompose/indexing.h"

namespace litz {
namespace {

/// The last dims of an upsampling call, and how far apart source positions are.
struct Axes {
  Value x;
  size_t count;
  std::vector<Expr> in, out;
  std::vector<std::optional<double>> factor;  // what the user gave as scale factor
};

Axes axes_of(Rewrite& r, size_t count, std::span<const Expr> in_sizes, std::span<const Expr> out_sizes) {
  Axes a;
  a.count = count;
  a.in.assign(in_sizes.end() - static_cast<int64_t>(count), in_sizes.end());
  a.out.assign(out_sizes.end() - static_cast<int64_t>(count), out_sizes.end());
  a.factor.resize(count);
  if (r.node.op->argument_index("scale_factors") >= 0) {
    if (r.has("scale_factors")) {
      const auto& list = r.argument("scale_factors").as<ArgumentList>();
      for (size_t k = 0; k < count; ++k) a.factor[k] = list[k].as<double>();
    }
    return a;
  }
  constexpr const char* kNames[] = {"scales_d", "scales_h", "scales_w"};
  for (size_t k = 0; k < count; ++k) {
    const char* name = count == 1 ? "scales" : kNames[3 - count + k];
    if (r.has(name)) a.factor[k] = r.number(name);
  }
  return a;
}

/// Eager refuses images without pixels or channels; a batch may be empty.
bool has_pixels(std::span<const Expr> sizes) {
  return std::all_of(sizes.begin() + 1, sizes.end(), [](Expr e) { return e.range().lower >= 1; });
}

double rounded(double v, DType type) { return type == DType::kFloat64 ? v : static_cast<double>(static_cast<float>(v)); }

/// in / out and the like as a number where the sizes are constants, otherwise as a tensor without dimensions.
Argument ratio(Rewrite& r, Expr numerator, Expr denominator, DType type) {
  if (numerator.is_integer() && denominator.is_integer()) {
    const double a = static_cast<double>(numerator.integer()), b = static_cast<double>(denominator.integer());
    if (type == DType::kFloat64) return a / b;
    return static_cast<double>(static_cast<float>(a) / static_cast<float>(b));
  }
  auto tensor = [&](Expr e) { return r.b.full({}, GraphBuilder::size_argument(e), type, r.out().device); };
  return r.b.div(tensor(numerator), tensor(denominator));
}

bool has_factor(const Axes& a, size_t k) { return a.factor[k] && *a.factor[k] > 0; }

/// copies_equal: where the size stays, eager copies the dimension, whatever the factor (1.1 of 8 is 8).
Argument scale_of(Rewrite& r, const Axes& a, size_t k, DType type, bool copies_equal) {
  if (!has_factor(a, k)) return ratio(r, a.in[k], a.out[k], type);
  const double by_factor = rounded(1.0 / *a.factor[k], type);
  const Expr is_equal = eq(a.in[k], a.out[k]);
  if (!copies_equal || is_equal.is_integer(0)) return by_factor;
  if (is_equal.is_integer(1)) return 1.0;
  auto tensor = [&](Argument value, DType of) { return r.b.full({}, value, of, r.out().device); };
  const Value in = tensor(GraphBuilder::size_argument(a.in[k]), DType::kInt64),
              out = tensor(GraphBuilder::size_argument(a.out[k]), DType::kInt64);
  return r.b.where(r.b.eq(in, out), tensor(1.0, type), tensor(by_factor, type));
}

Value floats(Rewrite& r, Expr length, DType type) { return r.b.to(r.b.iota(length, r.out().device), type); }

Value clipped(Rewrite& r, Value v, Argument low, Argument high) {
  return r.b.call("aten.minimum", {r.b.call("aten.maximum", {v, low}), high});
}

Value at_most(Rewrite& r, Value v, Expr bound) { return r.b.call("aten.minimum", {v, GraphBuilder::size_argument(bound)}); }

bool is_exact(Rewrite& r) { return r.node.op->name.find("nearest_exact") != std::string::npos; }

/// copies_equal as in scale_of: eager does so in two dimensions and in every gradient.
std::vector<Value> nearest_places(Rewrite& r, const Axes& a, DType type, bool copies_equal) {
  std::vector<Value> places;
  for (size_t k = 0; k < a.count; ++k) {
    if (!is_exact(r) && a.in[k] == a.out[k] && (copies_equal || !has_factor(a, k))) {
      places.push_back(r.b.iota(a.out[k], r.out().device));
      continue;
    }
    Value i = floats(r, a.out[k], type);
    if (is_exact(r)) i = r.b.add(i, 0.5);
    const Value source = r.b.call("aten.floor", {r.b.mul(i, scale_of(r, a, k, type, copies_equal && !is_exact(r)))});
    places.push_back(at_most(r, r.b.to(source, DType::kInt64), a.in[k] - 1));
  }
  return places;
}

Value input_of(Rewrite& r) { return r.tensor(r.node.op->arguments[0].name); }

Replacement nearest(Rewrite& r) {
  const Value x = input_of(r);
  if (!has_pixels(x.meta().sizes)) return {};
  const Axes a = axes_of(r, x.meta().rank() - 2, x.meta().sizes, r.out().sizes);
  const DType type = x.meta().dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  return {gather_at(r, x, nearest_places(r, a, type, a.count == 2))};
}

Replacement nearest_backward(Rewrite& r) {
  if (!has_pixels(r.out().sizes)) return {};
  const Value grad = r.opmath(r.tensor("grad_output"));
  const Axes a = axes_of(r, r.out().rank() - 2, r.out().sizes, grad.meta().sizes);
  return {r.result(accumulate_at(r, r.out().sizes, nearest_places(r, a, grad.meta().dtype, true), grad))};
}

/// Where the positions of the output lie in the input, as real numbers.
Value source_positions(Rewrite& r, const Axes& a, size_t k, DType type, bool align_corners, bool cubic) {
  const Value i = floats(r, a.out[k], type);
  if (align_corners) {
    if (a.out[k].is_integer(1)) return r.b.mul(i, 0.0);
    return r.b.mul(i, ratio(r, a.in[k] - 1, a.out[k] - 1, type));
  }
  const Value source = r.b.sub(r.b.mul(r.b.add(i, 0.5), scale_of(r, a, k, type, !cubic)), 0.5);
  return cubic ? source : r.b.call("aten.maximum", {source, 0.0});
}

/// Taps along one dimension: places and weights.
struct Taps {
  std::vector<Value> places, weights;
};

Taps linear_taps(Rewrite& r, const Axes& a, size_t k, DType type, bool align_corners) {
  const Value source = source_positions(r, a, k, type, align_corners, false);
  const Value first = at_most(r, r.b.to(r.b.call("aten.floor", {source}), DType::kInt64), a.in[k] - 1);
  const Value second = at_most(r, r.b.add(first, int64_t{1}), a.in[k] - 1);
  const Value t = clipped(r, r.b.sub(source, first), 0.0, 1.0);
  return {{first, second}, {r.b.sub(int64_t{1}, t), t}};
}

Taps cubic_taps(Rewrite& r, const Axes& a, size_t k, DType type, bool align_corners) {
  constexpr double kA = -0.75;
  const Value source = source_positions(r, a, k, type, align_corners, true);
  const Value floor = r.b.call("aten.floor", {source});
  const Value t = clipped(r, r.b.sub(source, floor), 0.0, 1.0);
  const Value first = r.b.to(floor, DType::kInt64);
  auto near = [&](Value x) {  // |x| <= 1
    const Value inner = r.b.sub(r.b.mul(x, kA + 2), kA + 3);
    return r.b.add(r.b.mul(r.b.mul(inner, x), x), int64_t{1});
  };
  auto far = [&](Value x) {  // 1 < |x| < 2
    const Value inner = r.b.add(r.b.mul(r.b.sub(r.b.mul(x, kA), 5 * kA), x), 8 * kA);
    return r.b.sub(r.b.mul(inner, x), 4 * kA);
  };
  Taps taps;
  for (int64_t d = -1; d <= 2; ++d)
    taps.places.push_back(clipped(r, r.b.add(first, d), int64_t{0}, GraphBuilder::size_argument(a.in[k] - 1)));
  const Value rest = r.b.sub(int64_t{1}, t);
  taps.weights = {far(r.b.add(t, int64_t{1})), near(t), near(rest), far(r.b.add(rest, int64_t{1}))};
  return taps;
}

using MakeTaps = Taps (*)(Rewrite&, const Axes&, size_t, DType, bool);

std::vector<Taps> all_taps(Rewrite& r, const Axes& a, DType type, MakeTaps make) {
  std::vector<Taps> taps;
  for (size_t k = 0; k < a.count; ++k) taps.push_back(make(r, a, k, type, r.flag("align_corners")));
  return taps;
}

/// Sum over the taps of dimension k and those after it, inner dimensions first.
Value interpolated(Rewrite& r, Value x, const std::vector<Taps>& taps, std::vector<Value>& places, size_t k) {
  if (k == taps.size()) return gather_at(r, x, places);
  Value total;
  for (size_t t = 0; t < taps[k].places.size(); ++t) {
    places.push_back(taps[k].places[t]);
    const Value inner = interpolated(r, x, taps, places, k + 1);
    places.pop_back();
    const Value term = r.b.mul(inner, along(r, taps[k].weights[t], k, taps.size()));
    total = total ? r.b.add(total, term) : term;
  }
  return total;
}

Replacement upsample(Rewrite& r, MakeTaps make) {
  const Value x = input_of(r);
  if (!is_floating(x.meta().dtype) || !has_pixels(x.meta().sizes)) return {};
  const Axes a = axes_of(r, x.meta().rank() - 2, x.meta().sizes, r.out().sizes);
  const DType type = opmath_type(x.meta().dtype);
  std::vector<Value> places;
  return {r.result(interpolated(r, r.opmath(x), all_taps(r, a, type, make), places, 0))};
}
Replacement linear(Rewrite& r) { return upsample(r, linear_taps); }
Replacement cubic(Rewrite& r) { return upsample(r, cubic_taps); }

void spread(Rewrite& r, Value grad, const std::vector<Taps>& taps, std::vector<Value>& places, size_t k, Value& total) {
  if (k == taps.size()) {
    const Value part = accumulate_at(r, r.out().sizes, places, grad);
    total = total ? r.b.add(total, part) : part;
    return;
  }
  for (size_t t = 0; t < taps[k].places.size(); ++t) {
    places.push_back(taps[k].places[t]);
    spread(r, r.b.mul(grad, along(r, taps[k].weights[t], k, taps.size())), taps, places, k + 1, total);
    places.pop_back();
  }
}

Replacement linear_backward(Rewrite& r) {
  if (!has_pixels(r.out().sizes)) return {};
  const Value grad = r.opmath(r.tensor("grad_output"));
  const Axes a = axes_of(r, r.out().rank() - 2, r.out().sizes, grad.meta().sizes);
  std::vector<Value> places;
  Value total;
  spread(r, grad, all_taps(r, a, grad.meta().dtype, linear_taps), places, 0, total);
  return {r.result(total)};
}

constexpr Decomposition kRows[] = {
    {"aten.upsample_nearest1d", nearest},
    {"aten.upsample_nearest1d.vec", nearest},
    {"aten.upsample_nearest2d", nearest},
    {"aten.upsample_nearest2d.vec", nearest},
    {"aten.upsample_nearest3d", nearest},
    {"aten.upsample_nearest3d.vec", nearest},
    {"aten._upsample_nearest_exact1d", nearest},
    {"aten._upsample_nearest_exact1d.vec", nearest},
    {"aten._upsample_nearest_exact2d", nearest},
    {"aten._upsample_nearest_exact2d.vec", nearest},
    {"aten._upsample_nearest_exact3d", nearest},
    {"aten._upsample_nearest_exact3d.vec", nearest},
    {"aten.upsample_nearest1d_backward", nearest_backward},
    {"aten.upsample_nearest2d_backward", nearest_backward},
    {"aten.upsample_nearest3d_backward", nearest_backward},
    {"aten._upsample_nearest_exact2d_backward", nearest_backward},
    {"aten.upsample_linear1d", linear},
    {"aten.upsample_linear1d.vec", linear},
    {"aten.upsample_bilinear2d", linear},
    {"aten.upsample_bilinear2d.vec", linear},
    {"aten.upsample_trilinear3d", linear},
    {"aten.upsample_trilinear3d.vec", linear},
    {"aten.upsample_bilinear2d_backward", linear_backward},
    {"aten.upsample_bicubic2d", cubic},
    {"aten.upsample_bicubic2d.vec", cubic},
};

}  // namespace

std::span<const Decomposition> upsample_decompositions() { return kRows; }

}  // namespace litz
