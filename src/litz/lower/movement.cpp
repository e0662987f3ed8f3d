// Concatenation, padding, flips and rolls: each element of the result is an element of an input or a fill value.
#include "litz/lower/promotion.h"

namespace litz {

namespace {

LoweringResult lower_cat(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  const TensorMeta& meta = node.outputs[0];
  std::vector<View> parts;
  for (const Argument& a : node.argument("tensors").as<ArgumentList>()) {
    View v = lowering.view(a.as<Value>());
    // Eager skips empty one-dimensional tensors whatever the others' rank.
    if (v.rank() == 1 && v.sizes[0].is_integer(0) && meta.rank() != 1) continue;
    parts.push_back(std::move(v));
  }
  if (parts.empty()) return unsupported("nothing to concatenate");
  int dim = Arguments::wrap_dim(in.integer("dim"), meta.rank());
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    auto d = static_cast<size_t>(dim);
    Expr end = lowering.integer(0);
    std::vector<Expr> starts;
    for (const View& v : parts) {
      starts.push_back(end);
      end = end + v.sizes[d];
    }
    // From the last part to the first: where(i < end of part, part, what follows).
    ValueId result = kNoValue;
    for (size_t k = parts.size(); k-- > 0;) {
      Expr part_end = starts[k] + parts[k].sizes[d];
      Expr below = k + 1 == parts.size() ? lowering.integer(1) : lt(index[d], part_end);
      Expr above = k == 0 ? lowering.integer(1) : le(starts[k], index[d]);
      std::vector<Expr> at(index.begin(), index.end());
      at[d] = index[d] - starts[k];
      ValueId value = b.cast(lowering.load(b, parts[k], at, lowering.predicate(b, logical_and(above, below))), meta.dtype);
      ValueId is_here = lowering.predicate(b, below);
      result = result == kNoValue || is_here == kNoValue ? value : b.where(is_here, value, result);
    }
    return result;
  })};
}

LoweringResult lower_pad(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  std::vector<Expr> pad = in.exprs("pad");  // before and after, the last dimension first
  const TensorMeta& meta = node.outputs[0];
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    std::vector<Expr> at(index.begin(), index.end());
    std::vector<std::pair<Expr, Expr>> bounds;
    for (size_t k = 0; k + 1 < pad.size(); k += 2) {
      size_t d = self.rank() - 1 - k / 2;
      at[d] = index[d] - pad[k];
      bounds.emplace_back(at[d], self.sizes[d]);
    }
    ValueId is_inside = lowering.inside(b, bounds);
    ValueId value = lowering.load(b, self, at, is_inside);
    return is_inside == kNoValue ? value : b.where(is_inside, value, number_value(b, node.argument("value"), meta.dtype));
  })};
}

LoweringResult lower_flip(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  std::vector<int64_t> dims = in.integers("dims");
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    std::vector<Expr> at(index.begin(), index.end());
    for (int64_t dim : dims) {
      if (self.rank() == 0) continue;
      auto d = static_cast<size_t>(Arguments::wrap_dim(dim, self.rank()));
      at[d] = self.sizes[d] - 1 - index[d];
    }
    return lowering.load(b, self, at);
  })};
}

LoweringResult lower_roll(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  std::vector<Expr> shifts = in.exprs("shifts");
  std::vector<int64_t> dims = in.integers("dims");
  ExprContext& context = lowering.context();
  // Without dimensions the tensor is rolled as one row.
  View source = dims.empty() ? reshape(context, self, {element_count(context, self.sizes)}) : self;
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    std::vector<Expr> at(index.begin(), index.end());
    if (dims.empty()) at = {self.rank() == 0 ? lowering.integer(0) : flatten(context, index, self.sizes)};
    for (size_t k = 0; k < shifts.size(); ++k) {
      if (source.rank() == 0) continue;
      size_t d = dims.empty() ? 0 : static_cast<size_t>(Arguments::wrap_dim(dims[k], self.rank()));
      Expr size = source.sizes[d];
      if (size.is_integer(0)) continue;
      // One compare instead of a modulus: the element at i comes from i - s, wrapped once, with 0 <= s < size.
      Expr s = mod(shifts[k], max(size, lowering.integer(1)));
      if (s.is_integer(0)) continue;
      at[d] = select(lt(at[d], s), at[d] + size - s, at[d] - s);
    }
    return lowering.load(b, source, at);
  })};
}

constexpr LoweringEntry kTable[] = {
    {"aten.cat", lower_cat},
    {"aten.constant_pad_nd", lower_pad},
    {"aten.flip", lower_flip},
    {"aten.roll", lower_roll},
};

}  // namespace

std::span<const LoweringEntry> movement_lowerings() { return kTable; }

}  // namespace litz
