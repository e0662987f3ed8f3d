#pragma once
// own_scatter_bases: a scatter writes into the storage of its base, so the base must be a buffer that nobody else needs. Where
// another reader, the caller or an input owns it, the base is copied first.
//
//   op put scatter (..) -> y over x at [t0]   (x an input)    =>    op copy pointwise -> base { load x }; op put scatter -> y over base
//
// Holds afterwards: every scatter's base is read by that scatter alone and has the layout of its result; assign_storage gives the
// result the base's storage. Runs before layouts are decided.
#include "litz/loop/program.h"

namespace litz {

bool own_scatter_bases(LoopProgram& program);

}  // namespace litz
