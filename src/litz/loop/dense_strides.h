#pragma once
// Strides of tensors that leave no gaps in memory.
#include <span>
#include <vector>

#include "litz/symbolic/expr.h"

namespace litz {

/// The dimensions as they lie in memory, outermost first, where the last one is innermost.
std::vector<int> row_major_order(size_t rank);

/// Dense strides of a shape whose dimensions lie in memory in the given order, outermost first. A size of 0 counts as 1, as in PyTorch;
/// a symbolic size counts as it is, for where it is 0 the tensor has no element to find, and max(size, 1) would hide that two
/// dimensions lie in one piece.
std::vector<Expr> dense_strides(ExprContext& context, std::span<const Expr> sizes, std::span<const int> order);

}  // namespace litz
