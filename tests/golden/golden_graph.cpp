#include "golden.h"
#include "litz/decompose/decompose.h"
#include "litz/decompose/functionalize_writes.h"
#include "litz/graph/graph.h"
#include "litz/graph_opt/clean_views.h"
#include "litz/graph_opt/eliminate_dead_code.h"
#include "litz/graph_opt/fold_batch_norm.h"
#include "litz/graph_opt/fold_constants.h"
#include "litz/graph_opt/merge_common_subexpressions.h"
#include "litz/graph_opt/pad_matrix_products.h"
#include "litz/graph_opt/remove_no_ops.h"
#include "litz/support/check.h"

namespace litz {
namespace {

/// Takes every call and finds elements that differ: what is folded shows in the text.
struct AnyConstant : ConstantEvaluator {
  bool evaluate(const Node&) override { return true; }
  std::optional<Argument> uniform(Value) override { return std::nullopt; }
  bool store(Value, const std::string&) override { return true; }
};

}  // namespace

std::string golden_graph(std::string_view pass, std::string_view text) {
  auto g = parse_graph(text);
  verify(*g);
  AnyConstant any;
  if (pass == "decompose") decompose(*g), eliminate_dead_code(*g);
  else if (pass == "eliminate_dead_code") eliminate_dead_code(*g);
  else if (pass == "merge_common_subexpressions") merge_common_subexpressions(*g);
  else if (pass == "fold_constants") fold_constants(*g, any);
  else if (pass == "functionalize_writes") functionalize_writes(*g);
  else if (pass == "fold_batch_norm") fold_batch_norm(*g);
  else if (pass == "clean_views") clean_views(*g), eliminate_dead_code(*g);
  else if (pass == "pad_matrix_products") pad_matrix_products(*g, 16);
  else if (pass == "remove_no_ops") remove_no_ops(*g);
  else user_error("no graph pass named {}", pass);
  verify(*g);
  return to_text(*g);
}

}  // namespace litz
