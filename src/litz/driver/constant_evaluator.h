#pragma once
// Runs constant sub-graphs on the reference interpreter for fold_constants: a call is lowered alone and its loops are interpreted.
// Small tensors only (kMostElements a result, kMostWork a compile), so that folding costs no more than a few milliseconds.
#include <unordered_map>

#include "litz/graph_opt/fold_constants.h"
#include "litz/loop/host_tensor.h"

namespace litz {

/// Tensors that a compile has the data of, by the name of the constant.
using ConstantData = std::unordered_map<std::string, HostTensor>;

class ReferenceEvaluator : public ConstantEvaluator {
 public:
  /// Reads `given` and fills `stored`. can_store: programs of this device read plain memory.
  ReferenceEvaluator(Graph& graph, const ConstantData& given, ConstantData& stored, bool can_store)
      : graph_(graph),
        given_(given),
        stored_(stored),
        can_store_(can_store) {}
  bool evaluate(const Node& call) override;
  std::optional<Argument> uniform(Value value) override;
  bool store(Value value, const std::string& constant) override;

  static constexpr int64_t kMostElements = 4096;
  static constexpr int64_t kMostWork = 1 << 16;  // elements of results

 private:
  const HostTensor* find(Value value) const;

  Graph& graph_;
  const ConstantData& given_;
  ConstantData& stored_;
  bool can_store_;
  int64_t work_ = 0;
  std::unordered_map<Value, HostTensor, ValueHash> values_;
};

}  // namespace litz
