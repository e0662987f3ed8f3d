#pragma once
// fold_constants: computes at compile time what depends on constants alone.
//
//   constant %w : f32[8]; %a = aten.exp(%w) -> f32[8]     =>     constant %w : f32[8]; constant %a : f32[8]
//
// The driver computes: the graph level has no tensors' data. Never folded: random ops, writes, effects, results with sizes that are
// not constants, results that leave the graph (each call must give a fresh tensor), constants that some node writes.
#include "litz/graph/graph.h"

namespace litz {

class ConstantEvaluator {
 public:
  virtual ~ConstantEvaluator() = default;
  /// Runs the call, whose tensors are all constants, and stores its results under these names; false leaves the node as it is.
  virtual bool evaluate(const Node& call, std::span<const std::string> result_names) = 0;
};

bool fold_constants(Graph& graph, ConstantEvaluator& evaluator);

}  // namespace litz
