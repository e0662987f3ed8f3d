#pragma once
// inline_producers: lowering gives every op a buffer of its own; this pass replays the bodies of pointwise producers inside their
// consumers and drops the buffers that nobody reads any more.
//
//   op0 pointwise (i0 < 8) -> a { v0 = load x [i0]; v1 = exp v0; yield v1 }
//   op1 pointwise (i0 < 8) -> b { v0 = load a [i0]; v1 = neg v0; yield v1 }
//     =>
//   op1 pointwise (i0 < 8) -> b { v0 = load x [i0]; v1 = exp v0; v2 = neg v1; yield v2 }
//
// Holds afterwards: the program computes the same values; every buffer left is read, returned or written back; refusals are recorded.
#include "litz/schedule/fused_group.h"

namespace litz {

bool inline_producers(LoopProgram& program, const Target& target, std::vector<Refusal>& refusals);

/// Removes operations of which no output is needed (externs that mutate, draw random numbers or have effects stay).
bool drop_dead_operations(LoopProgram& program);

}  // namespace litz
