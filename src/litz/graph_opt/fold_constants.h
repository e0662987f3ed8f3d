#pragma once
// fold_constants: computes at compile time what depends on constants and factories alone.
//
//   constant %w : f32[8]; %a = aten.exp(%w)                        =>     constant %a : f32[8]
//   %o = aten.full([4], 1); %b = aten.sub(1.0, %o)                 =>     %b = aten.full([4], 0.0)
//
// The driver computes: the graph level has no tensors' data. Where all elements have the same bits the result is aten.full, which
// kernels take as a number; otherwise it is stored, if it holds more than what kernels compute as cheaply as they load it (indices,
// casts and comparisons of them). Views stay what they are: what they view is folded. Never folded: random ops, writes, effects,
// results with sizes that are not constants, results that leave the graph (each call must give a fresh tensor), constants that some
// node writes. A cast among what is folded rounds as it would at run time.
#include <optional>

#include "litz/graph/graph.h"

namespace litz {

class ConstantEvaluator {
 public:
  virtual ~ConstantEvaluator() = default;
  /// Computes the call, whose tensors are all constants or results of earlier calls; false if it does not: the node stays as it is.
  virtual bool evaluate(const Node& call) = 0;
  /// The number of which aten.full makes exactly this value; nullopt where its elements differ or no number says their bits.
  virtual std::optional<Argument> uniform(Value value) = 0;
  /// Stores a value that was computed as the data of the constant of this name; false if it cannot be stored.
  virtual bool store(Value value, const std::string& constant) = 0;
};

bool fold_constants(Graph& graph, ConstantEvaluator& evaluator);

}  // namespace litz
