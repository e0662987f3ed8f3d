#include "litz/graph_opt/separate_convolution_bias.h"

#include "litz/graph/builder.h"

namespace litz {
namespace {

bool has_bias_to_separate(const Node& n) {
  if (n.kind != NodeKind::kCall || n.op->name != "aten.convolution" || !n.argument("bias").is<Value>()) return false;
  const TensorMeta& bias = n.argument("bias").as<Value>().meta();
  return is_floating(n.outputs[0].dtype) && bias.dtype == n.outputs[0].dtype && bias.rank() == 1 && n.outputs[0].rank() >= 3;
}

}  // namespace

bool separate_convolution_bias(Graph& graph) {
  std::vector<Node*> nodes;
  GraphBuilder builder(graph, nodes);
  return rewrite_nodes(graph, nodes, [&](Node& n) {
    if (!has_bias_to_separate(n)) return Value{};
    builder.set_origin(n.source, n.name);
    const Value bias = n.argument("bias").as<Value>();
    std::vector<Argument> arguments = n.arguments;
    arguments[static_cast<size_t>(n.op->argument_index("bias"))] = Argument{};
    Node* convolution = builder.foreign(n.op, std::move(arguments), {n.outputs[0]});
    std::vector<Expr> column(n.outputs[0].rank() - 1, graph.context->integer(1));
    column[0] = bias.meta().sizes[0];
    Node* sum = builder.node("aten.add.Tensor", {convolution->value(), builder.reshape(bias, column)});
    sum->outputs[0].strides = n.outputs[0].strides;  // the layout that the library chose
    return sum->value();
  });
}

}  // namespace litz
