// lower_tool [--summary] GRAPH...: decomposes, cleans and lowers graphs, and prints the programs or what they consist of.
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "litz/decompose/decompose.h"
#include "litz/graph_opt/clean_views.h"
#include "litz/graph_opt/eliminate_dead_code.h"
#include "litz/graph_opt/merge_common_subexpressions.h"
#include "litz/graph_opt/remove_no_ops.h"
#include "litz/lower/lower_graph.h"

namespace litz {
namespace {

std::string summary(const LoopProgram& program) {
  std::map<std::string, int> kinds, externs, fallbacks;
  int copies = 0, bound = 0;
  for (const Operation* op : program.operations) {
    static constexpr std::string_view kNames[] = {"pointwise", "reduction", "scan", "scatter", "extern"};
    ++kinds[std::string(kNames[static_cast<int>(op->kind)])];
    if (op->callee) ++externs[op->callee->name];
    for (const Buffer* b : op->outputs) {
      copies += b->name.find("_arg") != std::string::npos || b->name.find("_out") != std::string::npos;
      bound += b->layout.order_is_binding;
    }
  }
  for (const FallbackNote& f : program.fallbacks) ++fallbacks[f.op + ": " + f.reason];
  std::string text;
  auto list = [&](std::string_view title, const std::map<std::string, int>& counts) {
    text += fmt::format("  {}:", title);
    for (const auto& [name, count] : counts) text += fmt::format(" {} {},", count, name);
    text += '\n';
  };
  list("operations", kinds);
  list("extern", externs);
  list("fallbacks", fallbacks);
  return text + fmt::format("  copies {}, bound orders {}\n", copies, bound);
}

void run(const std::string& path, bool wants_summary) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto graph = parse_graph(text.str());
  remove_no_ops(*graph);
  decompose(*graph);
  clean_views(*graph);
  merge_common_subexpressions(*graph);
  eliminate_dead_code(*graph);
  auto program = lower_graph(*graph);
  if (wants_summary) std::cout << path << '\n';
  if (!program) std::cout << "unsupported: " << program.reason() << '\n';
  else std::cout << (wants_summary ? summary(**program) : to_text(**program));
}

}  // namespace
}  // namespace litz

int main(int argc, char** argv) {
  bool wants_summary = argc > 1 && std::string_view(argv[1]) == "--summary";
  int status = 0;
  for (int k = wants_summary ? 2 : 1; k < argc; ++k) {
    try {
      litz::run(argv[k], wants_summary);
    } catch (const std::exception& e) {
      std::cout << argv[k] << ": " << e.what() << '\n';
      status = 1;
    }
  }
  return status;
}
