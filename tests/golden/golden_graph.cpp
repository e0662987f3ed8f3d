#include "golden.h"
#include "litz/decompose/decompose.h"
#include "litz/decompose/functionalize_writes.h"
#include "litz/graph/graph.h"
#include "litz/graph_opt/clean_views.h"
#include "litz/graph_opt/eliminate_dead_code.h"
#include "litz/graph_opt/fold_batch_norm.h"
#include "litz/graph_opt/fold_constants.h"
#include "litz/graph_opt/fuse_attention.h"
#include "litz/graph_opt/merge_common_subexpressions.h"
#include "litz/graph_opt/pad_matrix_products.h"
#include "litz/graph_opt/remove_no_ops.h"
#include "litz/graph_opt/separate_convolution_bias.h"
#include "litz/support/check.h"

namespace litz {
namespace {

/// Takes every call and finds elements that differ: what is folded shows in the text.
struct AnyConstant : ConstantEvaluator {
  bool evaluate(const Node&) override { return true; }
  std::optional<Argument> uniform(Value) override { return std::nullopt; }
  bool store(Value, const std::string&) override { return true; }
};

/// A library that takes what stands in the text's tensors of 16-bit floats; refusals are lines behind the graph.
std::string fused_attention(Graph& graph) {
  auto call = [](const AttentionShape& s) -> Result<AttentionCall> {
    if (dtype_bytes(s.dtype) != 2) return unsupported("no fused attention of {}", dtype_name(s.dtype));
    AttentionCall c;
    c.schema =
        "aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool "
        "compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? scale=None) -> (Tensor output, Tensor log_sumexp, "
        "Tensor philox_seed, Tensor philox_offset)";
    c.bias_argument = "attn_bias";
    c.off_arguments = {"compute_log_sumexp"};
    c.results = {AttentionResult::kNoRowSums, AttentionResult::kSeed, AttentionResult::kSeed};
    c.row_bytes = 16;
    return c;
  };
  std::vector<AttentionRefusal> refusals;
  fuse_attention(graph, call, refusals);
  std::string text;
  for (const AttentionRefusal& r : refusals) text += fmt::format("refused {}: {}\n", r.softmax, r.reason);
  return text;
}

}  // namespace

std::string golden_graph(std::string_view pass, std::string_view text) {
  auto g = parse_graph(text);
  verify(*g);
  AnyConstant any;
  std::string more;
  if (pass == "decompose") decompose(*g), eliminate_dead_code(*g);
  else if (pass == "eliminate_dead_code") eliminate_dead_code(*g);
  else if (pass == "merge_common_subexpressions") merge_common_subexpressions(*g);
  else if (pass == "fold_constants") fold_constants(*g, any);
  else if (pass == "functionalize_writes") functionalize_writes(*g);
  else if (pass == "fuse_attention") more = fused_attention(*g);
  else if (pass == "fold_batch_norm") fold_batch_norm(*g);
  else if (pass == "clean_views") clean_views(*g), eliminate_dead_code(*g);
  else if (pass == "pad_matrix_products") pad_matrix_products(*g, 16);
  else if (pass == "separate_convolution_bias") separate_convolution_bias(*g);
  else if (pass == "remove_no_ops") remove_no_ops(*g);
  else user_error("no graph pass named {}", pass);
  verify(*g);
  return to_text(*g) + more;
}

}  // namespace litz
