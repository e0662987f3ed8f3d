#pragma once
// Which values share storage and which nodes write it: the one model of aliasing over a graph, from the ops' schemas.
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "litz/graph/graph.h"

namespace litz {

class AliasInfo {
 public:
  explicit AliasInfo(const Graph& graph);

  /// The value whose storage this one views: a graph input, a constant, or a fresh result. A view of several tensors, and results
  /// that alias an argument in a way the schema does not say, count as views of the first.
  Value root(Value v) const;
  bool may_share(Value a, Value b) const { return root(a) == root(b); }
  /// Whether some node writes the storage.
  bool is_written(Value v) const { return written_.contains(root(v)); }
  /// Whether some node at this place or later writes the storage; places count graph.nodes.
  bool is_written_from(Value v, size_t place) const;
  /// Whether the storage leaves the graph as an output.
  bool is_returned(Value v) const { return returned_.contains(root(v)); }

 private:
  std::unordered_map<Value, Value, ValueHash> roots_;
  std::unordered_map<Value, size_t, ValueHash> last_write_;
  std::unordered_set<Value, ValueHash> written_, returned_;
};

/// The argument whose storage a result shares, by the alias sets of the schema; null for a fresh result.
Value aliased_argument(const Node& node, int output);

}  // namespace litz
