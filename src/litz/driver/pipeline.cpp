#include "litz/driver/pipeline.h"

#include <chrono>

#include "litz/driver/extern_program.h"

namespace litz {

Result<std::unique_ptr<CompiledGraph>> compile_graph(std::unique_ptr<Graph> graph, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  verify(*graph);
  auto compiled = std::make_unique<CompiledGraph>();
  compiled->program = std::make_shared<runtime::Program>(make_extern_program(*graph));
  for (const Node* node : graph->nodes)
    if (node->kind == NodeKind::kCall) compiled->report.extern_calls[node->op->name]++;
  compiled->report.stage_ms.emplace_back("wrapper", std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  return compiled;
}

}  // namespace litz
