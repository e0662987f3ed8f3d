#pragma once
// eliminate_dead_code: drops nodes whose results nobody uses.
//
//   %a = aten.relu(%x); %b = aten.neg(%x); return %b     =>     %b = aten.neg(%x); return %b
//
// Kept all the same: writes, effects, random ops (the order of draws is part of the result), nodes that bring a symbol somebody uses.
#include "litz/graph/graph.h"

namespace litz {

bool eliminate_dead_code(Graph& graph);

}  // namespace litz
