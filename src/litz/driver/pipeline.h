#pragma once
// A graph becomes a program: every stage in order, on the one page of pipeline.cpp.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "litz/graph/graph.h"
#include "litz/runtime/program.h"
#include "litz/support/check.h"
#include "litz/support/options.h"

namespace litz {

/// What a compile did, for litz.last_report() and litz.explain().
struct CompileReport {
  int kernels = 0;
  std::vector<std::string> kernel_names;
  std::map<std::string, int> library_calls;  // op -> calls: matrix products, convolutions, attention
  std::map<std::string, int> extern_calls;   // op -> calls: ops without native code
  std::vector<std::string> refusals;         // "pass: first / second: reason"
  int64_t bytes_read = 0, bytes_written = 0;  // per call, at the captured sizes
  std::vector<std::pair<std::string, double>> stage_ms;
  std::vector<std::string> cpp_paths;        // where generated sources were written, if asked for
};
std::string to_json(const CompileReport& report);

struct CompiledGraph {
  std::shared_ptr<runtime::Program> program;
  CompileReport report;
};

/// Throws UserError and InternalError; gives the reason where Litz does not take the graph.
Result<std::unique_ptr<CompiledGraph>> compile_graph(std::unique_ptr<Graph> graph, const Options& options);

}  // namespace litz
