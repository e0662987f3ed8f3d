#pragma once
// Attention written as two batched matrix products with a softmax between them, seen as one: which tensors are query, key and value,
// what the scores are multiplied by, what is added to them and where they are replaced. Scores and probabilities have no other reader.
#include <unordered_map>

#include "litz/graph/alias.h"
#include "litz/graph_opt/axis_trace.h"
#include "litz/support/check.h"

namespace litz {

/// A tensor behind views and copies, and what its dimensions are.
struct AttentionOperand {
  Value value;
  DimensionAxes axes;
};

/// What happens to the scores, from the softmax towards the product.
struct ScoreChange {
  Value mask;
  DimensionAxes axes;       // of the scores where the mask meets them, broadcast as PyTorch does
  bool is_fill = false;     // false: scores + factor * mask
  bool fills_where = true;  // scores become `fill` where the mask is this
  double factor = 1, fill = 0;
};

struct AttentionMatch {
  Node* product = nullptr;  // the second one: its result is replaced
  AttentionOperand query, key, value;
  AxisList batch, heads, queries, keys, width, value_width;
  DimensionAxes output;  // of `product`
  double scale = 1;
  std::vector<ScoreChange> changes;
  bool is_safe = false;     // rows without a finite score give 0, not NaN
  bool is_widened = false;  // the framework's own form: narrow tensors, computed in float32, the result made narrow again
};

class AttentionMatcher {
 public:
  AttentionMatcher(const Graph& graph, AxisTable& axes);
  static bool is_softmax(const Node& node);
  /// Whether the scores come from a product: then it is worth saying why there is no match.
  bool is_candidate(const Node& softmax) const;
  Result<AttentionMatch> match(Node& softmax);

 private:
  using Refused = std::optional<Unsupported>;
  Refused follow_probabilities(Node& softmax, const DimensionAxes& axes, AttentionMatch& m);
  Refused follow_scores(Value scores, DimensionAxes axes, AttentionMatch& m);
  Refused take_product(const Node& product, const DimensionAxes& axes, double factor, AttentionMatch& m);
  Result<AttentionOperand> operand(Value value, DimensionAxes axes, AttentionMatch& m, double* scale);
  Refused choose_heads(const DimensionAxes& softmax_axes, AttentionMatch& m);
  bool comes_from_product(const Value& v, int depth = 0) const;
  int readers(Value v) const;

  const AliasInfo alias_;
  AxisTable& axes_;
  std::unordered_map<Value, std::vector<Node*>, ValueHash> readers_;
  std::unordered_map<Value, int, ValueHash> returned_;
};

}  // namespace litz
