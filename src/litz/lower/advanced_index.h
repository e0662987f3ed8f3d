#pragma once
// PyTorch's advanced indexing x[i, :, j]: shared by reads (index) and writes (index_put).
#include "litz/lower/lowering.h"

namespace litz {

struct AdvancedIndex {
  std::vector<std::optional<View>> indices;  // by dimension of the indexed tensor; none is ":"
  std::vector<Expr> broadcast_sizes;         // of all index tensors together
  size_t position = 0;                       // where these dimensions stand in the result
};

/// Unsupported for masks of booleans, whose result has a size that only the run knows.
Result<AdvancedIndex> advanced_index(Lowering& lowering, const Node& node, const View& self);
/// Sizes of the result.
std::vector<Expr> result_sizes(const AdvancedIndex& advanced, const View& self);
/// Coordinates in self of the result's element at `index`. Checked indices raise when out of range; all wrap negative ones.
std::vector<Expr> coordinates(Lowering& lowering, BodyBuilder& b, const AdvancedIndex& advanced, const View& self,
                              std::span<const Expr> index, bool is_checked);

/// An index of gather, scatter or embedding: raises unless 0 <= value < size.
Expr checked_index(Lowering& lowering, BodyBuilder& b, ValueId value, Expr size, std::string message);

}  // namespace litz
