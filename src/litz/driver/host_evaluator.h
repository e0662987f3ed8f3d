#pragma once
// Runs constant sub-graphs by the framework's own ops: for parameters of any size, and for ops whose results are no plain memory.
#include <unordered_map>

#include "litz/driver/c_api.h"
#include "litz/graph_opt/fold_constants.h"

namespace litz {

/// The constants that the host holds, counted as by litz_graph_constant; results are counted on from there.
using HostConstants = std::unordered_map<std::string, int64_t>;

class HostEvaluator : public ConstantEvaluator {
 public:
  /// Reads the numbers of `constants` and adds what is stored.
  HostEvaluator(const litz_constant_host& host, HostConstants& constants) : host_(host), constants_(constants) {}
  bool evaluate(const Node& call) override;
  std::optional<Argument> uniform(Value) override { return std::nullopt; }
  bool store(Value value, const std::string& constant) override;

 private:
  std::optional<int64_t> find(Value value) const;
  bool flatten(const Argument& argument, std::vector<litz_argument>& out) const;

  const litz_constant_host& host_;
  HostConstants& constants_;
  std::unordered_map<Value, int64_t, ValueHash> values_;
};

}  // namespace litz
