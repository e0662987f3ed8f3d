#pragma once
// functionalize_writes: an op that computes and writes its first argument becomes the op that computes, and a copy into the argument.
//
//   %y = aten.add_.Tensor(%x, %z)     =>     %a = aten.add.Tensor(%x, %z); %y = aten.copy_(%x, %a)
//
// Graphs of AOTAutograd have no such ops; exported and written ones do. Holds afterwards: of the ops that write, only aten.copy_ is
// left, and those that this pass does not take: random ones, ops that change a tensor's sizes or strides (resize_, t_), out-variants,
// and ops whose form without the underscore Litz does not know. Lowering refuses these with their name.
#include "litz/graph/graph.h"

namespace litz {

bool functionalize_writes(Graph& graph);

}  // namespace litz
