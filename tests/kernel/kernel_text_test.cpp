// Kernels as text read back to kernels that print the same and from which the generators make the same source: those of the golden
// programs and of the stored graphs, for threads with vectors and for a grid of blocks.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "litz/codegen/cpp/kernel_text.h"
#include "litz/codegen/triton/triton_backend.h"
#include "litz/decompose/decompose.h"
#include "litz/graph_opt/clean_views.h"
#include "litz/graph_opt/eliminate_dead_code.h"
#include "litz/graph_opt/merge_common_subexpressions.h"
#include "litz/graph_opt/remove_no_ops.h"
#include "litz/kernel/append_small_kernels.h"
#include "litz/kernel/make_cooperative_kernels.h"
#include "litz/loop/simplify_indices.h"
#include "litz/lower/lower_graph.h"
#include "litz/schedule/own_scatter_bases.h"
#include "scheduled_program.h"

namespace litz {
namespace {

namespace fs = std::filesystem;
const fs::path kTests = LITZ_TESTS_DIRECTORY;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string source_of(const Kernel& kernel, const Target& target) {
  auto source = target.facts().execution == ExecutionModel::kGridOfBlocks ? triton_source(kernel) : kernel_text(kernel);
  return source ? source->text : source.reason();
}

void expect_same_statements(const std::vector<KernelStatement>& a, const std::vector<KernelStatement>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(a[k].kind, b[k].kind);
    EXPECT_EQ(a[k].result, b[k].result);
    EXPECT_EQ(a[k].operands, b[k].operands);
    EXPECT_EQ(a[k].memory, b[k].memory);
    EXPECT_EQ(a[k].accumulator, b[k].accumulator);
    EXPECT_EQ(a[k].origin, b[k].origin);
    EXPECT_EQ(a[k].is_scatter, b[k].is_scatter);
    EXPECT_EQ(a[k].instr.message, b[k].instr.message);
    if (a[k].kind == KernelOp::kCompute || a[k].kind == KernelOp::kLoad) {
      EXPECT_EQ(a[k].instr.op, b[k].instr.op);
      EXPECT_EQ(a[k].instr.dtype, b[k].instr.dtype) << op_text(a[k].instr.op);
      const bool both_nan = std::isnan(a[k].instr.number.real) && std::isnan(b[k].instr.number.real);
      EXPECT_TRUE(both_nan || a[k].instr.number == b[k].instr.number);
    }
    if (a[k].kind == KernelOp::kLoop) expect_same_statements(a[k].loop->body, b[k].loop->body);
  }
}

void expect_round_trip(const Kernel& kernel, const Target& target) {
  const std::string text = to_text(kernel);
  SCOPED_TRACE(text);
  std::vector<std::unique_ptr<Kernel>> read_back;
  ASSERT_NO_THROW(
      try { read_back = parse_kernels(text); } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
        throw;
      });
  ASSERT_EQ(read_back.size(), 1u);
  const Kernel& again = *read_back[0];
  EXPECT_EQ(to_text(again), text);
  EXPECT_EQ(source_of(again, target), source_of(kernel, target));
  EXPECT_EQ(again.reports_errors, kernel.reports_errors);
  EXPECT_EQ(again.assertions, kernel.assertions);
  EXPECT_EQ(again.values.size(), kernel.values.size());
  EXPECT_EQ(to_string(scratch_bytes(again)), to_string(scratch_bytes(kernel)));
  expect_same_statements(kernel.body, again.body);
}

int expect_round_trips(std::unique_ptr<LoopProgram> program, const Target& target) {
  const test::Scheduled scheduled = test::schedule_program(std::move(program), target);
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (const auto& group : scheduled.schedule.groups)
    kernels.push_back(group->kind == GroupKind::kLoops ? build_kernel(*group, scheduled.schedule, target) : nullptr);
  if (target.facts().runs_programs_together) {
    append_small_kernels(scheduled.schedule, kernels, target.facts(), [](size_t) { return false; });
    make_cooperative_kernels(scheduled.schedule, kernels, target.facts(), [](size_t) { return false; });
  }
  int count = 0;
  for (const auto& kernel : kernels) {
    if (!kernel) continue;
    expect_round_trip(*kernel, target);
    ++count;
    if (testing::Test::HasFailure()) break;
  }
  return count;
}

const test::FixedTarget kVectors, kGrid(test::grid_facts());

TEST(KernelText, KernelsOfTheGoldenProgramsReadBackToTheSame) {
  int count = 0;
  for (const char* folder :
       {"golden/kernel/build_kernel", "golden/kernel/append_small_kernels", "golden/kernel/make_cooperative_kernels", "golden/codegen/cpp"})
    for (const auto& entry : fs::directory_iterator(kTests / folder)) {
      const std::string text = read(entry.path());
      const std::string program = text.substr(0, text.find("----\n"));
      for (const test::FixedTarget* target : {&kVectors, &kGrid}) {
        SCOPED_TRACE(entry.path().string());
        count += expect_round_trips(parse_loop_program(program), *target);
        if (HasFailure()) return;
      }
    }
  EXPECT_GE(count, 30);
}

/// Operations cite the nodes of the graph, which outlives them.
std::unique_ptr<LoopProgram> lowered(const fs::path& path, std::unique_ptr<Graph>& graph) {
  graph = parse_graph(read(path));
  decompose(*graph);
  remove_no_ops(*graph);
  clean_views(*graph);
  merge_common_subexpressions(*graph);
  eliminate_dead_code(*graph);
  auto program = lower_graph(*graph);
  own_scatter_bases(**program);
  simplify_indices(**program);
  return std::move(*program);
}

TEST(KernelText, KernelsOfTheStoredGraphsReadBackToTheSame) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(kTests / "graphs")) {
    if (entry.path().extension() != ".ir") continue;
    for (const test::FixedTarget* target : {&kVectors, &kGrid}) {
      SCOPED_TRACE(entry.path().string());
      std::unique_ptr<Graph> graph;
      count += expect_round_trips(lowered(entry.path(), graph), *target);
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(count, 100);
}

TEST(KernelText, ManyKernelsStandInOneText) {
  std::string text;
  std::unique_ptr<Graph> graph;
  const test::Scheduled scheduled = test::schedule_program(lowered(kTests / "graphs/resnet50.ir", graph), kVectors);
  size_t count = 0;
  for (const auto& group : scheduled.schedule.groups)
    if (group->kind == GroupKind::kLoops) text += to_text(*build_kernel(*group, scheduled.schedule, kVectors)) + "\n", ++count;
  std::string again;
  const auto kernels = parse_kernels(text);
  for (const auto& kernel : kernels) again += to_text(*kernel) + "\n";
  EXPECT_EQ(kernels.size(), count);
  EXPECT_EQ(again, text);
}

}  // namespace
}  // namespace litz
