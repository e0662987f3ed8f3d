#pragma once
// fold_batch_norm: a batch norm with constant statistics behind a convolution with constant weights becomes part of the weights.
//
//   %c = aten.convolution(%x, %w, None, ...); %y, .. = aten._native_batch_norm_legit_no_training(%c, %g, %b, %mean, %var, .., eps)
//     =>  %s = %g * rsqrt(%var + eps); %y = aten.convolution(%x, %w * %s, %b - %mean * %s, ...)
//
// Scaled in float32 and rounded once to the weights' type. The convolution must have no other reader. Only where parameters are
// constants (freezing); fold_constants computes what stands on them.
#include "litz/graph/graph.h"

namespace litz {

bool fold_batch_norm(Graph& graph);

}  // namespace litz
