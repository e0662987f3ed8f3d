// Random graphs through every stage to machine code: kernels give what the reference interpreter gives for the program as lowered.
#include <gtest/gtest.h>

#include "kernel_runner.h"
#include "litz/loop/simplify_indices.h"
#include "litz/lower/lower_graph.h"
#include "litz/schedule/own_scatter_bases.h"
#include "litz/schedule/split_reduction.h"
#include "random_graph.h"

namespace litz {
namespace {

/// Empty if all results agree; otherwise the first difference, or the error.
std::string compiled_difference(const RandomGraph& random, uint64_t seed) {
  auto program = lower_graph(*random.graph);
  if (!program) return program.reason();
  std::string text = to_text(**program);
  try {
    own_scatter_bases(**program);
    simplify_indices(**program);
    SplitOptions pieces;
    pieces.most_pieces = 2 + static_cast<int64_t>(seed % 3);
    pieces.piece_elements = 1;
    std::vector<Refusal> refusals;
    split_reduction(**program, refusals, pieces);
    test::KernelRunner runner(std::move(*program));
    test::RunOptions run;
    if (random.rows) run.sizes["s0"] = *random.rows;
    run.seed = seed + 1;
    run.cuts = 2;
    run.least_tolerance = 1e-4;
    std::string difference = runner.compare(run);
    return difference.empty() ? "" : difference + "\n" + text;
  } catch (const std::exception& e) { return std::string(e.what()) + "\n" + text; }
}

TEST(CompiledGraphs, RandomGraphsGiveWhatTheirProgramsMean) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    RandomGraphOptions options;
    options.is_smooth = true;
    options.has_products = false;
    RandomGraph random = random_graph(seed, options);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, to_text(*random.graph)));
    EXPECT_EQ(compiled_difference(random, seed), "");
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace litz
