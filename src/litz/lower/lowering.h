#pragma once
// The working state of lower_graph and the table of lowerings. A lowering reads the node's arguments through Lowering, emits
// operations and gives one View for each tensor result; it answers Unsupported *before* it emits anything.
#include <functional>
#include <initializer_list>
#include <unordered_map>
#include <unordered_set>

#include "litz/loop/program.h"
#include "litz/lower/lower_graph.h"
#include "litz/lower/view.h"

namespace litz {

class Lowering;
using LoweringResult = Result<std::vector<View>>;
using LoweringFunction = LoweringResult (*)(Lowering&, const Node&);

struct LoweringEntry {
  std::string_view op;
  LoweringFunction function;
};
/// One table a file.
std::span<const LoweringEntry> pointwise_lowerings();
std::span<const LoweringEntry> cast_lowerings();
std::span<const LoweringEntry> reduction_lowerings();
std::span<const LoweringEntry> scan_lowerings();
std::span<const LoweringEntry> view_lowerings();
std::span<const LoweringEntry> movement_lowerings();
std::span<const LoweringEntry> indexing_lowerings();
std::span<const LoweringEntry> scatter_lowerings();
std::span<const LoweringEntry> factory_lowerings();
std::span<const LoweringEntry> random_lowerings();
std::span<const LoweringEntry> pool_lowerings();
std::span<const LoweringEntry> library_lowerings();

/// Computes one element (or one for each output) at an index.
using PointFunction = std::function<ValueId(BodyBuilder&, std::span<const Expr> index)>;

class Lowering {
 public:
  explicit Lowering(const Graph& graph, const LoweringOptions& options);
  Result<std::unique_ptr<LoopProgram>> run();

  ExprContext& context() { return *graph_.context; }
  LoopProgram& program() { return *program_; }
  const LoweringOptions& options() const { return options_; }
  Expr integer(int64_t v) { return context().integer(v); }

  /// The tensor as it is now: of the newest version of its buffer.
  View view(Value value) const;
  bool is_used(const Node& node, int output) const { return used_.contains(Value{const_cast<Node*>(&node), output}); }

  // Bodies
  /// A view's element at an index of its own shape.
  ValueId load(BodyBuilder& b, const View& view, std::span<const Expr> index, ValueId predicate = kNoValue);
  /// Right-aligned broadcasting.
  ValueId load_broadcast(BodyBuilder& b, const View& view, std::span<const Expr> index);
  /// The predicate 0 <= index < size for each pair, or kNoValue if all are proven.
  ValueId inside(BodyBuilder& b, std::span<const std::pair<Expr, Expr>> index_and_size);
  /// A boolean expression as a value; kNoValue if it is always true.
  ValueId predicate(BodyBuilder& b, Expr condition);

  // Operations
  View pointwise(const Node& node, const TensorMeta& meta, std::string_view name, const PointFunction& f);
  View pointwise(const Node& node, int output, const PointFunction& f);
  /// Several results of one shape from one body.
  std::vector<View> pointwise_many(const Node& node, std::span<const int> outputs,
                                   const std::function<std::vector<ValueId>(BodyBuilder&, std::span<const Expr>)>& f);

  struct ReductionSpec {
    ReductionKind kind;
    DType accumulate;
    std::vector<DType> outputs;  // element types of the buffers
    std::vector<std::string> names;
  };
  /// f yields the values to combine at a full index of `sizes`. The buffers have the dimensions that are not reduced.
  std::vector<View> reduce(
      const Node& node, const ReductionSpec& spec, std::span<const Expr> sizes, const std::vector<bool>& is_reduced,
      const std::function<std::vector<ValueId>(BodyBuilder&, std::span<const Expr> index, std::span<const Expr> reduced)>& f);
  /// Puts dimensions of size 1 back where they were reduced.
  View keep_dims(View view, const std::vector<bool>& is_reduced);

  Operation* new_operation(OperationKind kind, const Node& node, std::string_view name);
  Buffer* new_buffer(std::string_view name, DType dtype, std::vector<Expr> sizes, const Device& device);
  /// A row-major copy of a view.
  View copy(const View& view, const Node* source, std::string_view name);

  // Extern calls
  /// A view as an argument: strided on its buffer (the buffer's order is bound, or a copy made, where it must be).
  ExternTensor extern_tensor(View view, const Node& node, std::span<const Expr> required_strides = {});
  struct ExternSpec {
    bool writes_planned_output = false;
    bool demands_strides = true;    // arguments must have eager's strides
    bool has_exact_outputs = true;  // results have eager's strides
  };
  std::vector<View> extern_call(const Node& node, const ExternSpec& spec);

  // Mutation
  /// A new version of the view's buffer in which the view's elements are given by f.
  void write(const Node& node, const View& target, const PointFunction& f);

 private:
  friend class OutputLowering;
  void find_uses();
  void find_promises();
  void lower_inputs();
  std::optional<Unsupported> lower_node(const Node& node);
  void set_results(const Node& node, std::vector<View> views);
  /// Gives eager's strides to the buffer behind a result that is returned.
  void fix_layout(const View& view, const TensorMeta& meta);
  void lower_outputs();
  ProgramOutput lower_output(const GraphOutput& output);
  ExternArgument extern_argument(const Argument& argument, const Node& node, bool demands_strides);
  bool is_strided(View& view);
  View clone_for_output(const View& view, const TensorMeta& meta, const Node& node);

  const Graph& graph_;
  const LoweringOptions& options_;
  std::unique_ptr<LoopProgram> program_;
  std::unordered_map<Value, View, ValueHash> views_;
  std::unordered_map<const Buffer*, Buffer*> newest_;  // by first version
  std::unordered_set<Value, ValueHash> used_, promised_;
  std::unordered_map<const Buffer*, const TensorMeta*> eager_meta_;

 public:
  /// FX metadata of the value that a buffer holds, or null.
  const TensorMeta* eager_meta(const Buffer* buffer) const {
    auto it = eager_meta_.find(buffer);
    return it == eager_meta_.end() ? nullptr : it->second;
  }
};

/// Arguments of a node by name, with PyTorch's conversions; a wrong kind is a bug of the graph (checked).
class Arguments {
 public:
  Arguments(Lowering& lowering, const Node& node) : lowering_(lowering), node_(node) {}
  const Argument& operator[](std::string_view name) const { return node_.argument(name); }
  bool has(std::string_view name) const { return !node_.argument(name).is<None>(); }
  View tensor(std::string_view name) const;
  std::optional<View> optional_tensor(std::string_view name) const;
  bool boolean(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  std::optional<int64_t> optional_integer(std::string_view name) const;
  Expr expr(std::string_view name) const;
  double real(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<Expr> exprs(std::string_view name) const;
  std::string string(std::string_view name) const;
  /// Dimension with negative numbers wrapped; a tensor without dimensions counts as having one.
  static int wrap_dim(int64_t dim, size_t rank);

 private:
  Lowering& lowering_;
  const Node& node_;
};

/// 1 for none.
Expr element_count(ExprContext& context, std::span<const Expr> sizes);

}  // namespace litz
