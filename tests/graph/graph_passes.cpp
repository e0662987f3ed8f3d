#include "graph_passes.h"

#include "litz/decompose/decompose.h"
#include "litz/decompose/functionalize_writes.h"
#include "litz/graph_opt/clean_views.h"
#include "litz/graph_opt/eliminate_dead_code.h"
#include "litz/graph_opt/merge_common_subexpressions.h"
#include "litz/graph_opt/remove_no_ops.h"
#include "litz/support/check.h"

namespace litz {

std::function<bool(Graph&)> find_pass(std::string_view name) {
  if (name == "decompose") return [](Graph& g) { return decompose(g); };
  if (name == "functionalize_writes") return functionalize_writes;
  if (name == "eliminate_dead_code") return eliminate_dead_code;
  if (name == "merge_common_subexpressions") return merge_common_subexpressions;
  if (name == "clean_views") return clean_views;
  if (name == "remove_no_ops") return remove_no_ops;
  user_error("no pass named {}", name);
}

}  // namespace litz
