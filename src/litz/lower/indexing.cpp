// Reads at places that are data: gather, advanced indexing, embedding.
#include "litz/lower/advanced_index.h"

namespace litz {

namespace {

LoweringResult lower_gather(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View self = in.tensor("self"), index_view = in.tensor("index");
  // A tensor without dimensions counts as one with one element in one dimension.
  if (self.rank() == 0) self = unsqueeze(lowering.context(), self, 0);
  if (node.outputs[0].rank() == 0) {
    if (index_view.rank() > 0) return unsupported("gather with an index of another rank");
    return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr>) {
      ValueId place = lowering.load(b, index_view, {});
      return lowering.load(
          b, self, std::array{checked_index(lowering, b, place, self.sizes[0], "index is out of bounds for dimension 0 with size 1")});
    })};
  }
  if (self.rank() != index_view.rank()) return unsupported("gather with an index of another rank");
  auto dim = static_cast<size_t>(Arguments::wrap_dim(in.integer("dim"), self.rank()));
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    std::vector<Expr> at(index.begin(), index.end());
    at[dim] = checked_index(lowering, b, lowering.load(b, index_view, index), self.sizes[dim],
                            fmt::format("index is out of bounds for dimension {} with size {}", dim, to_string(self.sizes[dim])));
    return lowering.load(b, self, at);
  })};
}

LoweringResult lower_index(Lowering& lowering, const Node& node, bool is_checked) {
  Arguments in(lowering, node);
  View self = in.tensor("self");
  Result<AdvancedIndex> advanced = advanced_index(lowering, node, self);
  if (!advanced) return Unsupported{advanced.reason()};
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    return lowering.load(b, self, coordinates(lowering, b, *advanced, self, index, is_checked));
  })};
}

LoweringResult lower_checked_index(Lowering& lowering, const Node& node) { return lower_index(lowering, node, true); }
LoweringResult lower_unsafe_index(Lowering& lowering, const Node& node) { return lower_index(lowering, node, false); }

LoweringResult lower_embedding(Lowering& lowering, const Node& node) {
  Arguments in(lowering, node);
  View weight = in.tensor("weight"), indices = in.tensor("indices");
  return std::vector{lowering.pointwise(node, 0, [&](BodyBuilder& b, std::span<const Expr> index) {
    ValueId row = lowering.load(b, indices, index.first(indices.rank()));
    return lowering.load(b, weight,
                         std::array{checked_index(lowering, b, row, weight.sizes[0], "index out of range in self"), index.back()});
  })};
}

constexpr LoweringEntry kTable[] = {
    {"aten.gather", lower_gather},
    {"aten.index.Tensor", lower_checked_index},
    {"aten._unsafe_index.Tensor", lower_unsafe_index},
    {"aten.embedding", lower_embedding},
};

}  // namespace

std::span<const LoweringEntry> indexing_lowerings() { return kTable; }

}  // namespace litz
