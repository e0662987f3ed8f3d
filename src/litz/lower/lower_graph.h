#pragma once
// lower_graph: graph IR -> loop IR.
//
//   %h = aten.relu(%x)  ->  op h pointwise (i0 < s0, i1 < 768) -> h { v0 = load x [i0, i1]; v1 = relu v0; yield v1 }
//
// Holds afterwards: every operation but externs defines its buffers as a function of coordinates; eager's strides stand only on
// inputs, on what is returned (when promised), on results of the dispatcher and on written inputs; all other layouts are open. An op
// that no lowering takes is an extern operation, and program.fallbacks says why. The graph must outlive the program (sources).
#include <memory>

#include "litz/loop/program.h"
#include "litz/support/check.h"

namespace litz {

struct LoweringOptions {
  /// Ops ("aten.tanh") that go to the dispatcher even though they could be lowered: to find which op is wrong.
  std::vector<std::string> extern_ops;
  /// Dropout draws numbers in generated code, with a seed from the framework's generator; otherwise eager's numbers are the result.
  bool draws_random_numbers = false;
  /// Convolutions that take each channel by itself become loops if their window has at most that many elements.
  int64_t most_window_elements = 0;
  /// Several blocks may write one element at a time: elements are combined by atomic instructions, where the device has such that treat
  /// every value as eager does.
  bool scatters_by_atomics = false;
  /// No result may depend on which of several writers comes first.
  bool is_deterministic = false;
  /// Sorts of rows with at most that many elements, of at most that many bytes each, become loops.
  int64_t most_sorted_elements = 0, most_sorted_bytes = 4;
};

/// Unsupported: the whole graph is not taken (it writes a tensor in a way that loop IR does not express).
Result<std::unique_ptr<LoopProgram>> lower_graph(const Graph& graph, const LoweringOptions& options = {});

/// Ops that a lowering takes, sorted.
std::vector<std::string_view> lowered_ops();

}  // namespace litz
