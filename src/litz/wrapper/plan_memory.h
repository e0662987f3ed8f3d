#pragma once
// plan_memory: tensors of the call that do not escape share arenas, one per device, instead of an allocation each, where that does
// not raise the call's peak. Live ranges are static;
// offsets are numbers where all sizes are, otherwise expressions over the sizes, computed once per tuple of sizes.
//
//   alloc %a; call k0(.., %a); alloc %b; call k1(%a, %b); free %a ..    =>    arena 0 bytes ..; place %a in arena 0 at 0; ...
//
// Holds afterwards: two tensors whose lives overlap do not overlap in an arena; every offset is a multiple of the alignment.
#include "litz/target/target.h"
#include "litz/wrapper/wrapper.h"

namespace litz {

bool plan_memory(WrapperProgram& program, int64_t alignment);

}  // namespace litz
