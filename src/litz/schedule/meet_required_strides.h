#pragma once
// meet_required_strides: what an extern call demands of its tensors. Where a decided layout, seen through the call's view, has other
// strides than the callee demands, or is not strided at all, the call gets a copy.
//
//   extern op(%a through [i1, i0], strides demanded [8, 1]), a : [8, 4] strides [4, 1]   =>   copy -> b : [4, 8] strides [8, 1]; extern op(%b)
//
// prefer_required_strides runs before decide_layouts: a flexible buffer that a call reads whole takes the order that is demanded.
#include "litz/loop/program.h"

namespace litz {

bool prefer_required_strides(LoopProgram& program);
bool meet_required_strides(LoopProgram& program);

}  // namespace litz
