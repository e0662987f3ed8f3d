#pragma once
// Random graphs of primitives over small shapes, for tests that compare two ways of computing the same.
#include <cstdint>
#include <memory>

#include "litz/graph/graph.h"
#include "litz/loop/reference_interpreter.h"

namespace litz {

struct RandomGraph {
  std::unique_ptr<Graph> graph;
  ReferenceInputs inputs;  // values for the graph's inputs, in their order
};
/// The same seed gives the same graph and values. `steps` is about how many ops it has.
RandomGraph random_graph(uint64_t seed, int steps);

}  // namespace litz
