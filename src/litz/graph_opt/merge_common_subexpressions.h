#pragma once
// merge_common_subexpressions: one node for calls of one op with the same arguments.
//
//   %a = aten.exp(%x); %b = aten.exp(%x); %c = aten.mul.Tensor(%a, %b)     =>     %a = aten.exp(%x); %c = aten.mul.Tensor(%a, %a)
//
// Never merged: random ops, writes, effects, calls that read storage which some node writes, results of which both leave the graph
// (the caller gets two tensors). A cast stays imported if one of the merged ones was.
#include "litz/graph/graph.h"

namespace litz {

bool merge_common_subexpressions(Graph& graph);

}  // namespace litz
