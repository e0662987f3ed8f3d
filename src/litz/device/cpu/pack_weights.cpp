#include "litz/device/cpu/pack_weights.h"

#include <optional>
#include <unordered_map>

#include "litz/graph/builder.h"

namespace litz {
namespace {

constexpr std::string_view kReorderConvolution =
    "mkldnn::_reorder_convolution_weight(Tensor self, int[2] padding=0, int[2] stride=1, int[2] dilation=1, int groups=1, int[]? "
    "input_size=None) -> Tensor Y";
constexpr std::string_view kConvolution =
    "mkldnn::_convolution_pointwise(Tensor X, Tensor W, Tensor? B, int[] padding, int[] stride, int[] dilation, int groups, str attr, "
    "Scalar?[] scalars, str? algorithm) -> Tensor Y";
constexpr std::string_view kReorderLinear = "mkldnn::_reorder_linear_weight(Tensor self, int? batch_size=None) -> Tensor Y";
constexpr std::string_view kLinear =
    "mkldnn::_linear_pointwise(Tensor X, Tensor W, Tensor? B, str attr, Scalar?[] scalars, str? algorithm) -> Tensor Y";

class Packer {
 public:
  Packer(Graph& graph, ConstantEvaluator& evaluator) : graph_(graph), evaluator_(evaluator) {}

  bool run() {
    return rewrite_nodes(graph_, nodes_, [&](Node& n) {
      Node* packed = nullptr;
      if (n.op_name() == "aten.convolution") packed = convolution(n);
      if (n.op_name() == "aten.addmm" || n.op_name() == "aten.mm") packed = linear(n);
      return packed ? packed->value() : Value{};
    });
  }

 private:
  static bool is_packable(DType type) { return type == DType::kFloat32 || type == DType::kBFloat16 || type == DType::kFloat16; }

  static bool has_numbers(const Argument& list) {
    if (!list.is<ArgumentList>()) return false;
    for (const Argument& a : list.as<ArgumentList>())
      if (!a.is<int64_t>()) return false;
    return true;
  }

  /// Runs a packing op on a constant and stores the result as one.
  Value pack(Value weight, std::string_view schema, std::vector<Argument> arguments, const Node& reader) {
    if (weight.node->kind != NodeKind::kConstant || !is_packable(weight.meta().dtype)) return {};
    Node* reorder = graph_.new_node(NodeKind::kCall, weight.node->name + "_packed");
    reorder->op = graph_.schema(schema);
    reorder->arguments = std::move(arguments);
    reorder->outputs = {weight.meta()};
    reorder->is_imported = false;
    const std::string name = graph_.unique_name(reorder->name);
    if (!evaluator_.evaluate(*reorder) || !evaluator_.store(reorder->value(), name)) return {};
    Node* constant = graph_.new_node(NodeKind::kConstant, name);
    constant->name = name;
    constant->outputs = reorder->outputs;
    constant->outputs[0].storage_offset = Expr();
    constant->source = reader.source;
    constant->is_imported = false;
    nodes_.push_back(constant);
    return constant->value();
  }

  Node* replace(const Node& n, std::string_view schema, std::vector<Argument> arguments) {
    GraphBuilder b(graph_, nodes_);
    b.set_origin(n.source, n.name);
    return b.foreign(graph_.schema(schema), std::move(arguments), n.outputs);
  }

  Node* convolution(const Node& n) {
    const Value input = n.argument("input").as<Value>(), weight = n.argument("weight").as<Value>();
    const Argument &stride = n.argument("stride"), &padding = n.argument("padding"), &dilation = n.argument("dilation"),
                   &groups = n.argument("groups");
    if (input.meta().rank() != 4 || n.argument("transposed").as<bool>() || !groups.is<int64_t>()) return nullptr;
    if (!has_numbers(stride) || !has_numbers(padding) || !has_numbers(dilation) || input.meta().dtype != weight.meta().dtype)
      return nullptr;
    ArgumentList sizes;
    bool is_fixed = true;
    for (Expr e : input.meta().sizes) {
      is_fixed &= e.is_integer();
      if (e.is_integer()) sizes.push_back(e.integer());
    }
    const Value packed = pack(weight, kReorderConvolution,
                              {weight, padding, stride, dilation, groups, is_fixed ? Argument(std::move(sizes)) : Argument(None{})}, n);
    if (!packed) return nullptr;
    return replace(
        n, kConvolution,
        {input, packed, n.argument("bias"), padding, stride, dilation, groups, std::string("none"), ArgumentList{}, std::string()});
  }

  Node* linear(const Node& n) {
    const bool has_bias = n.op_name() == "aten.addmm";
    const Argument &left = n.arguments[has_bias ? 1 : 0], &right = n.arguments[has_bias ? 2 : 1];
    const Value input = left.as<Value>(), transposed = right.as<Value>();
    Argument bias = None{};
    if (has_bias) {
      bias = n.argument("self");
      for (std::string_view factor : {"alpha", "beta"}) {
        const Argument& f = n.argument(factor);
        if (!(f.is<int64_t>() && f.as<int64_t>() == 1) && !(f.is<double>() && f.as<double>() == 1.0)) return nullptr;
      }
      if (!bias.is<Value>() || bias.as<Value>().meta().rank() != 1 || !(bias.as<Value>().meta().sizes[0] == n.outputs[0].sizes[1]))
        return nullptr;
      if (bias.as<Value>().meta().dtype != input.meta().dtype) return nullptr;
    }
    if (transposed.node->op_name() != "aten.permute") return nullptr;
    const Value weight = transposed.node->arguments[0].as<Value>();
    if (weight.meta().rank() != 2 || transposed.node->arguments[1].as<ArgumentList>()[0].as<int64_t>() == 0) return nullptr;
    const Expr rows = input.meta().sizes[0];
    const Value packed = pack(weight, kReorderLinear, {weight, rows.is_integer() ? Argument(rows.integer()) : Argument(None{})}, n);
    if (!packed) return nullptr;
    return replace(n, kLinear, {input, packed, bias, std::string("none"), ArgumentList{}, std::string()});
  }

  Graph& graph_;
  ConstantEvaluator& evaluator_;
  std::vector<Node*> nodes_;
};

}  // namespace

bool pack_weights(Graph& graph, ConstantEvaluator& evaluator) { return Packer(graph, evaluator).run(); }

}  // namespace litz
