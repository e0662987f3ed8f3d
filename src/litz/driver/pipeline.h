#pragma once
// A graph becomes a program: every stage in order, on the one page of pipeline.cpp.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "litz/driver/c_api.h"
#include "litz/driver/constant_evaluator.h"
#include "litz/graph/graph.h"
#include "litz/runtime/program.h"
#include "litz/support/check.h"
#include "litz/support/options.h"

namespace litz {

/// Whose text a stage leaves; in the order of the stages.
enum class Level : uint8_t { kGraph, kLoop, kSchedule, kKernel, kSource, kWrapper, kExecutor };
std::string_view level_name(Level level);
std::optional<Level> parse_level(std::string_view name);

struct StageInfo {
  std::string_view name;
  Level level;
  std::string_view summary;
};
/// Every stage, in order.
std::vector<StageInfo> stage_list();

/// What a compile did, for litz.last_report() and litz.explain().
struct CompileReport {
  int kernels = 0;
  std::vector<std::string> kernel_names;
  std::map<std::string, int> library_calls;                         // op -> calls: matrix products, convolutions, attention
  std::map<std::string, int> extern_calls;                          // op -> calls: ops without native code
  std::vector<std::pair<std::string, std::string>> extern_reasons;  // op, why no lowering took it
  std::vector<std::string> notes;                                   // what options changed or could not change on this device
  std::vector<std::string> refusals;                                // "pass: first / second: reason"
  /// Strides in elements of every result that is a tensor with strides known at compile time; nullopt for the others.
  std::vector<std::optional<std::vector<int64_t>>> output_strides;
  int64_t bytes_read = 0, bytes_written = 0;  // per call, at the captured sizes
  std::vector<std::pair<std::string, double>> stage_ms;
  std::vector<std::string> cpp_paths;  // where generated sources were written, if asked for
};
std::string to_json(const CompileReport& report);

struct CompiledGraph {
  std::shared_ptr<runtime::Program> program;
  /// Which constants, as the host counts them, the program takes.
  std::vector<int32_t> constants;
  CompileReport report;
};

/// For the command line: reads the text of a level (graph, loop, kernel or wrapper), runs the stages up to and including `last` (a stage's name, or a
/// level's: then all that end in it) and gives the text of what that left. Throws UserError.
std::string run_on_text(std::string_view text, Level from, std::string_view last, const Options& options);

/// Throws UserError and InternalError; gives the reason where Litz does not take the graph. constants: data in host memory, by name.
Result<std::unique_ptr<CompiledGraph>> compile_graph(std::unique_ptr<Graph> graph, const Options& options, ConstantData constants = {},
                                                     const litz_constant_host* host = nullptr);

}  // namespace litz
