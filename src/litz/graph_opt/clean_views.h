#pragma once
// clean_views: drops views that change nothing and joins chains of them.
//
//   %a = aten.permute(%x, [1, 0]); %b = aten.permute(%a, [1, 0]); %c = aten.exp(%b)     =>     %c = aten.exp(%x)
//   %a = aten.reshape(%x, [6]); %b = aten.reshape(%a, [3, 2])                           =>     %b = aten.reshape(%x, [3, 2])
//
// A view that the graph returns stays a tensor of its own: its node is kept, what stands below it may change.
#include "litz/graph/graph.h"

namespace litz {

bool clean_views(Graph& graph);

}  // namespace litz
