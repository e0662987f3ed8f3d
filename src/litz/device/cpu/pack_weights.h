#pragma once
// pack_weights: convolutions and matrix products with constant weights call oneDNN with the weights laid out as it wants them.
//
//   %y = aten.convolution(%x, %w, %b, ...)            =>   %y = mkldnn._convolution_pointwise(%x, %w_packed, %b, ..., "none", [], "")
//   %t = aten.permute(%w, [1, 0]); %y = aten.addmm(%b, %x, %t)   =>   %y = mkldnn._linear_pointwise(%x, %w_packed, %b, "none", [], "")
//
// %w_packed is a constant that the evaluator has computed: where it cannot (no such op, a type or processor that oneDNN refuses), the
// call stays as it is. A packed tensor has no plain memory: only these calls may read it.
#include "litz/graph_opt/fold_constants.h"

namespace litz {

bool pack_weights(Graph& graph, ConstantEvaluator& evaluator);

}  // namespace litz
