#pragma once
// Convolutions that take each channel by itself, as a sum over a small window in the body of a pointwise operation.
#include "litz/lower/lowering.h"

namespace litz {

/// Whether a call of aten.convolution is one: two dimensions, one result a channel, a window of at most that many elements.
bool is_small_depthwise(const Node& node, int64_t most_elements);

/// Summed as the libraries do, in float32 for narrow floats, rounded once.
std::vector<View> lower_depthwise(Lowering& lowering, const Node& node);

}  // namespace litz
