#pragma once
// decompose(graph): replaces ops by primitives. A decomposition says what eager computes: half types are computed in float32 and
// rounded once at the end, NaN, inf and -0 come out as eager's, results that eager makes fresh are fresh.
//
//   %y = aten.silu(%x) -> bf16[8]        %a = prims.convert_element_type(%x, f32); %b = aten.neg(%a); %c = aten.exp(%b)
//                                   =>   %d = aten.add.Tensor(%c, 1); %e = aten.div.Tensor(%a, %d)
//                                        %y = prims.convert_element_type(%e, bf16)
//
// What must hold afterwards: sizes, types and strides of every replaced value are those of the value it replaces; casts that stood in
// the imported graph still stand, as imported nodes.
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "litz/graph/builder.h"
#include "litz/graph/graph.h"

namespace litz {

/// What `integer`, `number` and the like throw where the number is symbolic: the call stays what it is.
struct NeedsNumber {};

/// One node on its way to primitives: its arguments by name, and the builder that puts nodes in its place.
class Rewrite {
 public:
  Rewrite(GraphBuilder& builder, const Node& node) : b(builder), node(node) {}

  GraphBuilder& b;
  const Node& node;

  const Argument& argument(std::string_view name) const { return node.argument(name); }
  bool has(std::string_view name) const;  // the schema has the argument and it is not None
  Value tensor(std::string_view name) const;
  /// Null where None stands.
  Value optional_tensor(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;  // of a float, int or bool
  bool flag(std::string_view name) const;
  std::string_view text(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;  // None gives an empty list; a number gives one entry
  std::vector<Expr> sizes(std::string_view name) const;
  std::vector<Value> tensors(std::string_view name) const;
  /// Whether the integers of that argument are all constants.
  bool is_constant(std::string_view name) const;
  const TensorMeta& out(int i = 0) const { return node.outputs[i]; }
  int64_t dim(std::string_view name, size_t rank) const;
  /// Dims of an argument, wrapped, sorted; none given means all.
  std::vector<int64_t> dims(std::string_view name, size_t rank) const;

  ExprContext& context() { return b.context(); }
  Expr constant(int64_t v) { return b.context().integer(v); }
  /// The value in the type in which eager computes on it.
  Value opmath(Value v) { return b.to(v, opmath_type(v.meta().dtype)); }
  /// The value in the type of the node's result.
  Value result(Value v, int i = 0) { return b.to(v, out(i).dtype); }
};

/// The values that replace the node's tensor results (null for one that nobody can use: it is None), or an empty list when the
/// decomposition does not take this call.
using Replacement = std::vector<Value>;

struct Decomposition {
  std::string_view op;
  Replacement (*function)(Rewrite&);
  /// The result may share storage with an argument although the schema does not say so (aten._unsafe_view).
  bool may_alias = false;
};

/// All tables; null for an op without a decomposition.
const Decomposition* find_decomposition(std::string_view op_name);
std::span<const Decomposition* const> decompositions();

struct DecomposeOptions {
  /// Ops that stay although a decomposition exists (a device or the user lowers them itself).
  std::vector<std::string> keep;
};

/// True if anything changed. The graph is verified by the caller.
bool decompose(Graph& graph, const DecomposeOptions& options = {});

// One table a family.
// clang-format off
#define LITZ_DECOMPOSITION_FAMILIES(X)                                                                                       \
  X(activation) X(activation_backward) X(cast) X(factory) X(index_backward) X(loss) X(movement) X(normalization)             \
  X(normalization_backward) X(pointwise) X(pooling) X(reduction) X(softmax) X(upsample) X(view)
// clang-format on
#define LITZ_DECLARE_FAMILY(name) std::span<const Decomposition> name##_decompositions();
LITZ_DECOMPOSITION_FAMILIES(LITZ_DECLARE_FAMILY)
#undef LITZ_DECLARE_FAMILY

}  // namespace litz
