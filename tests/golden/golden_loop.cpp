#include "golden.h"
#include "litz/loop/simplify_indices.h"
#include "litz/lower/lower_graph.h"

namespace litz {

namespace {

std::string lowered(std::string_view text) {
  auto graph = parse_graph(text);
  verify(*graph);
  auto program = lower_graph(*graph);
  if (!program) return "unsupported: " + program.reason() + "\n";
  std::string result = to_text(**program);
  for (const FallbackNote& f : (*program)->fallbacks) result += "fallback " + f.op + ": " + f.reason + "\n";
  return result;
}

}  // namespace

std::string golden_loop(std::string_view pass, std::string_view text) {
  if (pass == "lower_graph") return lowered(text);
  auto program = parse_loop_program(text);
  if (pass == "simplify_indices") simplify_indices(*program);
  else user_error("no loop pass named {}", pass);
  verify(*program);
  return to_text(*program);
}

}  // namespace litz
