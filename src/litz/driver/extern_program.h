#pragma once
// A graph as a program in which every call is an extern call, in the graph's order: what the framework itself would do, with Litz
// only passing tensors on. The reference for the executor and its ways of calling ops.
#include "litz/graph/graph.h"
#include "litz/runtime/program.h"

namespace litz {

runtime::Program make_extern_program(const Graph& graph);

}  // namespace litz
