#include "litz/graph_opt/fold_batch_norm.h"

#include <unordered_map>

#include "litz/graph/alias.h"
#include "litz/graph/builder.h"

namespace litz {
namespace {

constexpr std::string_view kBatchNorm = "aten._native_batch_norm_legit_no_training";

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), alias_(graph) {
    for (const Node* n : graph.nodes)
      for (const Argument& a : n->arguments) for_each_value(a, [&](const Value& v) { ++readers_[v]; });
    for (const GraphOutput& o : graph.outputs)
      if (auto* v = std::get_if<Value>(&o.value)) ++readers_[*v];
  }

  bool run() {
    return rewrite_nodes(graph_, nodes_, [&](Node& n) { return fold(n); });
  }

 private:
  bool is_constant(const Argument& a) const {
    if (a.is<None>()) return true;
    return a.is<Value>() && a.as<Value>().node->kind == NodeKind::kConstant && !alias_.is_written(a.as<Value>()) &&
           is_floating(a.as<Value>().meta().dtype);
  }

  int readers(Value v) const {
    auto found = readers_.find(v);
    return found == readers_.end() ? 0 : found->second;
  }

  /// The convolution with the norm in its weights; null where the pattern does not hold.
  Value fold(Node& norm) {
    if (norm.op_name() != kBatchNorm || !norm.argument("input").is<Value>() || readers(norm.value(1)) || readers(norm.value(2))) return {};
    const Value input = norm.argument("input").as<Value>();
    Node& convolution = *input.node;
    if (convolution.op_name() != "aten.convolution" || readers(input) != 1 || convolution.argument("transposed").as<bool>()) return {};
    for (std::string_view name : {"weight", "bias"})
      if (!is_constant(convolution.argument(name))) return {};
    for (std::string_view name : {"weight", "bias", "running_mean", "running_var"})
      if (!is_constant(norm.argument(name))) return {};
    const Value weight = convolution.argument("weight").as<Value>();
    if (input.meta().dtype != weight.meta().dtype || norm.outputs[0].dtype != input.meta().dtype) return {};
    if (opmath_type(weight.meta().dtype) != DType::kFloat32) return {};

    GraphBuilder b(graph_, nodes_);
    b.set_origin(norm.source, norm.name);
    auto wide = [&](const Argument& a) { return b.to(a.as<Value>(), DType::kFloat32); };
    Value scale = b.call("aten.rsqrt", {b.add(wide(norm.argument("running_var")), norm.argument("eps"))});
    if (!norm.argument("weight").is<None>()) scale = b.mul(wide(norm.argument("weight")), scale);
    std::vector<Expr> column(weight.meta().rank(), graph_.context->integer(1));
    column[0] = weight.meta().sizes[0];
    const Value scaled = b.mul(wide(weight), b.reshape(scale, column));
    Value shift = wide(norm.argument("running_mean"));
    if (!convolution.argument("bias").is<None>()) shift = b.sub(shift, wide(convolution.argument("bias")));
    shift = b.neg(b.mul(shift, scale));
    if (!norm.argument("bias").is<None>()) shift = b.add(wide(norm.argument("bias")), shift);

    std::vector<Argument> arguments = convolution.arguments;
    arguments[static_cast<size_t>(convolution.op->argument_index("weight"))] = b.to(scaled, weight.meta().dtype);
    arguments[static_cast<size_t>(convolution.op->argument_index("bias"))] = b.to(shift, weight.meta().dtype);
    std::erase(nodes_, &convolution);
    return b.foreign(convolution.op, std::move(arguments), {norm.outputs[0]})->value();
  }

  Graph& graph_;
  const AliasInfo alias_;
  std::unordered_map<Value, int, ValueHash> readers_;
  std::vector<Node*> nodes_;
};

}  // namespace

bool fold_batch_norm(Graph& graph) { return Folder(graph).run(); }

}  // namespace litz
