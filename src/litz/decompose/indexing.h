#pragma once
// Index tensors that decompositions compute: one int64 tensor a dimension, shaped to broadcast against the others.
#include <vector>

#include "litz/decompose/decompose.h"

namespace litz {

/// Indices for the last dims of x, each one-dimensional, as the list that index ops take: the k-th of n gets n - 1 - k trailing
/// dimensions, dims before them get None.
ArgumentList index_list(Rewrite& r, size_t rank, std::span<const Value> last_dims);
/// x at computed places of its last dims, known to be in range.
Value gather_at(Rewrite& r, Value x, std::span<const Value> last_dims);
/// Zeros of the sizes with the values added at those places.
Value accumulate_at(Rewrite& r, std::span<const Expr> sizes, std::span<const Value> last_dims, Value values);
/// Reads or accumulates one per-dimension vector along dimension k of n trailing ones: v with n - 1 - k dimensions after it.
Value along(Rewrite& r, Value vector, size_t k, size_t n);

}  // namespace litz
