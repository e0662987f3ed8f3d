#pragma once
// separate_convolution_bias: a library that adds the bias of a convolution in a kernel of its own, one more trip through memory, is
// asked for the convolution alone; the addition becomes part of whatever kernel reads the result.
//
//   %y = aten.convolution(%x, %w, %b, ...)  =>  %c = aten.convolution(%x, %w, None, ...); %y = aten.add(%c, aten.reshape(%b, [C, 1, 1]))
//
// The same values: the convolution rounds to its type before the bias is added, in either form.
#include "litz/graph/graph.h"

namespace litz {

bool separate_convolution_bias(Graph& graph);

}  // namespace litz
