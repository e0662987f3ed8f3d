#pragma once
// remove_no_ops: drops copies that nobody can tell from their source, and pairs of casts that Litz built itself and that undo one
// another without rounding.
//
//   %a = aten.clone(%x); %b = aten.exp(%a)     =>     %b = aten.exp(%x)
//
// Not no-ops, because NaN, inf, -0 or the type would change: x + 0, x * 1, x - x, any cast of the imported graph. A copy stays where
// it leaves the graph (the caller may write it), where its storage or its source's is written afterwards, and where its strides differ
// from its source's and could be seen.
#include "litz/graph/graph.h"

namespace litz {

bool remove_no_ops(Graph& graph);

}  // namespace litz
