#pragma once
// Graph IR: what PyTorch captured. Nodes call ops by schema; every argument of the schema is present, in the schema's order,
// defaults filled in, so that position is meaning. Tensor results carry metadata (dtype, sizes, strides, offset, device), for
// imported nodes as FakeTensor said it, for nodes that Litz builds as the op's rule says it.
//
// Semantics of a graph: nodes run in order. An op whose schema writes an argument writes that tensor's storage; an op whose
// schema is a view returns a tensor on the same storage. Everything else returns fresh tensors.
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "litz/graph/schema.h"
#include "litz/support/dtype.h"
#include "litz/symbolic/expr.h"

namespace litz {

/// A device as PyTorch names it; the core only compares it and asks the target registered under its type.
struct Device {
  std::string type = "cpu";
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

struct TensorMeta {
  DType dtype = DType::kFloat32;
  std::vector<Expr> sizes;    // elements
  std::vector<Expr> strides;  // elements
  Expr storage_offset;        // elements; null means 0
  Device device;
  bool is_none = false;  // the op returned None (or an undefined tensor) at this place; the other fields mean nothing
  size_t rank() const { return sizes.size(); }
};

class Node;

/// One result of a node.
struct Value {
  Node* node = nullptr;
  int output = 0;
  explicit operator bool() const { return node != nullptr; }
  const TensorMeta& meta() const;
  friend bool operator==(Value, Value) = default;
};
struct ValueHash {
  size_t operator()(Value v) const { return std::hash<const void*>()(v.node) * 31 + static_cast<size_t>(v.output); }
};

enum class MemoryFormat : uint8_t { kContiguous, kPreserve, kChannelsLast, kChannelsLast3d };

struct Argument;
using ArgumentList = std::vector<Argument>;
struct None {
  friend bool operator==(None, None) { return true; }
};

/// What stands at one position of a call. Numbers keep the kind in which PyTorch gave them (promotion depends on it) and may stand
/// where the schema says Tensor (add(x, 1)): PyTorch's wrapped numbers. An Expr is a SymInt (constants arrive as int64_t).
struct Argument
    : std::variant<None, bool, int64_t, double, std::complex<double>, Expr, std::string, DType, Device, MemoryFormat, Value, ArgumentList> {
  using variant::variant;
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(*this);
  }
  template <typename T>
  const T& as() const {
    return std::get<T>(*this);
  }  // throws std::bad_variant_access: arguments are verified against the schema
};

/// The user's line that a node came from.
struct SourceLine {
  std::string file;
  int line = 0;
  std::string text;
};

enum class NodeKind : uint8_t {
  kInput,  // a graph input: tensor, or a size (then its symbol stands in `symbol`)
  kCall,
  kConstant,  // a tensor stored with the graph (lifted constants); data held by the driver under `name`
};

class Node {
 public:
  NodeKind kind = NodeKind::kCall;
  std::string name;                 // for printing, unique in the graph
  const OpSchema* op = nullptr;     // kCall
  std::vector<Argument> arguments;  // kCall
  /// Tensor results in order; a list result has one entry for each element. `symbol_outputs` follow them in the text form.
  std::vector<TensorMeta> outputs;
  std::vector<Expr> symbol_outputs;  // results that are integers (sizes, unbacked symbols), e.g. of item()
  Expr symbol;                       // kInput of a size
  const SourceLine* source = nullptr;
  bool is_imported = true;  // false: built by Litz; only casts that Litz built may be dropped
  int order = 0;            // position at the last renumbering

  Value value(int output = 0) { return Value{this, output}; }
  std::string_view op_name() const { return op ? std::string_view(op->name) : std::string_view(); }
  const Argument& argument(std::string_view argument_name) const;  // checked
};

/// What the caller gets back at one place.
struct GraphOutput {
  std::variant<None, Value, Expr, int64_t, double, bool> value;
  bool strides_are_promised = true;  // eager's strides must be those of the result
};

class Graph {
 public:
  explicit Graph(std::string name) : name(std::move(name)), context(std::make_shared<ExprContext>()) {}

  std::string name;
  std::shared_ptr<ExprContext> context;
  std::vector<Node*> inputs;
  std::vector<Node*> nodes;  // calls and constants, in execution order
  std::vector<GraphOutput> outputs;
  bool is_inference = true;

  Node* new_node(NodeKind kind, std::string_view name);  // owned by the graph; not yet in `nodes`
  const OpSchema* schema(std::string_view text);         // parsed once
  const OpSchema* find_schema(std::string_view op_name) const;
  const SourceLine* source(std::string file, int line, std::string text);
  std::span<const std::unique_ptr<OpSchema>> schemas() const { return schemas_; }
  std::string unique_name(std::string_view stem);
  void renumber();

 private:
  std::vector<std::unique_ptr<Node>> owned_;
  std::vector<std::unique_ptr<OpSchema>> schemas_;
  std::unordered_map<std::string, const OpSchema*> schema_by_text_, schema_by_name_;
  std::vector<std::unique_ptr<SourceLine>> sources_;
  std::unordered_map<std::string, int> names_;
};

inline const TensorMeta& Value::meta() const { return node->outputs[output]; }

/// "f32[s0, 768] strides [1, s0]": strides that are row-major, offset 0 and the default device are left out.
std::string to_text(const TensorMeta& meta);
/// Strides of a row-major tensor, as eager gives them: a dimension of size 0 counts as 1.
std::vector<Expr> contiguous_strides(ExprContext& context, std::span<const Expr> sizes);
/// The default of an argument as the schema writes it; null if it has none.
std::optional<Argument> default_argument(const SchemaArgument& argument);
/// Same alternative, same value; numbers compare by their bits.
bool same_argument(const Argument& a, const Argument& b);
/// "%x" or "%x.1": how a value is written.
std::string value_text(Value value);

/// Replaces uses in nodes and graph outputs; chains (a -> b, b -> c) are followed.
using ValueMap = std::unordered_map<Value, Value, ValueHash>;
void replace_uses(Graph& graph, const ValueMap& map);
/// Builds the list of nodes anew, in order. `replace` sees each node with its arguments replaced already, appends what it makes to `made`
/// and gives the value that stands for the node's result from here on; null keeps the node. True if any was replaced.
bool rewrite_nodes(Graph& graph, std::vector<Node*>& made, const std::function<Value(Node&)>& replace);

/// Calls f(Value&) for every tensor among the arguments, lists included.
template <typename F>
void for_each_value(Argument& argument, F&& f) {
  if (auto* v = std::get_if<Value>(&argument)) f(*v);
  if (auto* list = std::get_if<ArgumentList>(&argument))
    for (auto& a : *list) for_each_value(a, f);
}
template <typename F>
void for_each_value(const Argument& argument, F&& f) {
  if (auto* v = std::get_if<Value>(&argument)) f(*v);
  if (auto* list = std::get_if<ArgumentList>(&argument))
    for (auto& a : *list) for_each_value(a, f);
}

/// Postcondition of import and of every graph pass; throws InternalError with the node.
void verify(const Graph& graph);

/// Text form, complete: schemas, symbols, inputs, nodes, outputs. parse_graph(to_text(g)) prints the same.
///   graph f
///   schema aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
///   symbol s0 in [2, inf] hint 32
///   input %s0 : size s0
///   input %x : f32[s0, 768]
///   %y = aten.add.Tensor(%x, %x, alpha=2) -> f32[s0, 768]  # f.py:3: y = x + 2 * x
///   return %y
/// Arguments that equal the schema's default are left out; a node that Litz built ends with "built"; an output whose strides are
/// free ends with "free". Reads as PyTorch writes it: None, True, 1, 1.0, inf, complex(0.0, 1.0), [..], "text", bf16, cpu.
std::string to_text(const Graph& graph);
std::unique_ptr<Graph> parse_graph(std::string_view text);

}  // namespace litz
