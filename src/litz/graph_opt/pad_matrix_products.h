#pragma once
// pad_matrix_products: large matrix products whose rows are not a multiple of what the library's fast kernels ask for (a vocabulary of
// 50257 columns) are made with columns of zeros behind the weight, and what the graph wanted is a view of the result.
//
//   %y = aten.mm(%x, %w) -> bf16[8192, 50257]      =>      %p = aten.constant_pad_nd(%w, [0, 7]); %m = aten.mm(%x, %p) -> bf16[8192, 50264]
//                                                          %y = aten.slice(%m, 1, 0, 50257) -> strides [50264, 1]
//
// A weight stored the other way round keeps its order. Each call copies the weight, which is worth it where the product is large. What
// the caller gets may then have longer rows than eager's; elements and sizes are the same. A graph whose result is saved for a backward
// graph keeps eager's strides, which that graph was told.
#include "litz/graph/graph.h"

namespace litz {

/// row_bytes: what the library asks for; 1 changes nothing.
bool pad_matrix_products(Graph& graph, int64_t row_bytes);

}  // namespace litz
