#include "graph_passes.h"

#include "litz/decompose/decompose.h"
#include "litz/decompose/functionalize_writes.h"
#include "litz/graph_opt/clean_views.h"
#include "litz/graph_opt/eliminate_dead_code.h"
#include "litz/graph_opt/fuse_attention.h"
#include "litz/graph_opt/merge_common_subexpressions.h"
#include "litz/graph_opt/remove_no_ops.h"
#include "litz/support/check.h"

namespace litz {
namespace {

/// Every attention becomes the framework's call for CPUs, whatever its sizes.
bool fuse_all_attention(Graph& graph) {
  auto call = [](const AttentionShape&) -> Result<AttentionCall> {
    AttentionCall c;
    c.schema =
        "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool "
        "is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)";
    c.bias_argument = "attn_mask";
    c.results = {AttentionResult::kHeadsInRow};
    c.output_follows_query = true;
    c.row_bytes = 16;
    return c;
  };
  std::vector<AttentionRefusal> refusals;
  return fuse_attention(graph, call, refusals);
}

}  // namespace

std::function<bool(Graph&)> find_pass(std::string_view name) {
  if (name == "decompose") return [](Graph& g) { return decompose(g); };
  if (name == "fuse_attention") return fuse_all_attention;
  if (name == "functionalize_writes") return functionalize_writes;
  if (name == "eliminate_dead_code") return eliminate_dead_code;
  if (name == "merge_common_subexpressions") return merge_common_subexpressions;
  if (name == "clean_views") return clean_views;
  if (name == "remove_no_ops") return remove_no_ops;
  user_error("no pass named {}", name);
}

}  // namespace litz
