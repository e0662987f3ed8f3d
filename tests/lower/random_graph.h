#pragma once
// Random graphs of primitives over small shapes, for tests that compare two ways of computing the same.
#include <cstdint>
#include <memory>

#include "litz/graph/graph.h"
#include "litz/loop/reference_interpreter.h"

namespace litz {

struct RandomGraph {
  std::unique_ptr<Graph> graph;
  std::optional<int64_t> rows;  // of the symbol s0, if the graph has it
  ReferenceInputs inputs;       // values for the graph's inputs, in their order
};
struct RandomGraphOptions {
  int steps = 24;            // about how many ops
  bool is_smooth = false;    // no op that jumps, and float32 alone: results may be compared up to roundings
  bool has_products = true;  // matrix products: extern calls
};
/// The same seed gives the same graph and values.
RandomGraph random_graph(uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace litz
