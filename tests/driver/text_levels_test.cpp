// `litz opt` stage by stage: the text that a level leaves, read again, goes on to what the whole run gives.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "litz/driver/pipeline.h"

namespace litz {
namespace {

std::string stored_graph(const std::string& name) {
  std::ifstream file(std::filesystem::path(LITZ_GRAPHS_DIRECTORY) / (name + ".ir"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Options without_machine_code() {
  Options options;
  options.skip = "compile_kernels";
  return options;
}

std::string from_graph(const std::string& graph, std::string_view last) {
  return run_on_text(graph, Level::kGraph, last, without_machine_code());
}

class TextLevels : public testing::TestWithParam<std::string> {};

TEST_P(TextLevels, KernelTextBecomesTheSameSource) {
  const std::string graph = stored_graph(GetParam());
  const std::string kernels = from_graph(graph, "kernel");
  EXPECT_EQ(run_on_text(kernels, Level::kKernel, "kernel", {}), kernels);
  EXPECT_EQ(run_on_text(kernels, Level::kKernel, "source", {}), from_graph(graph, "generate_code"));
}

TEST_P(TextLevels, WrapperTextIsPlannedAndBecomesTheSameProgram) {
  const std::string graph = stored_graph(GetParam());
  const std::string built = from_graph(graph, "build_wrapper");
  EXPECT_EQ(run_on_text(built, Level::kWrapper, "build_wrapper", {}), built);
  const std::string planned = from_graph(graph, "plan_memory");
  EXPECT_EQ(run_on_text(built, Level::kWrapper, "plan_memory", {}), planned);
  EXPECT_EQ(run_on_text(built, Level::kWrapper, "executor", without_machine_code()), from_graph(graph, "executor"));
  EXPECT_EQ(run_on_text(planned, Level::kWrapper, "build_wrapper", {}), planned);
}

INSTANTIATE_TEST_SUITE_P(StoredGraphs, TextLevels, testing::Values("bert_base", "resnet50", "swin_tiny"),
                         [](const auto& info) { return info.param; });

std::string error_of(std::string_view text, Level from, std::string_view last) {
  try {
    run_on_text(text, from, last, {});
  } catch (const UserError& e) { return e.what(); }
  return "no error";
}

TEST(RunOnText, WhatATextCannotBecomeIsRefused) {
  const std::string kernel = "kernel k(x: in f32[4] on nowhere 0)  range 1 grain 1\n";
  EXPECT_EQ(error_of(kernel, Level::kKernel, "kernel"), "tensors on device 'nowhere', for which this build of Litz has no device");
  EXPECT_EQ(error_of("kernel k()  range 1 grain 1\n", Level::kKernel, "plan_memory"),
            "text of level kernel goes as far as generate_code: plan_memory needs the whole program");
  EXPECT_EQ(error_of("kernel k()  range 1 grain 1\n", Level::kKernel, "fuse"),
            "stage fuse comes before what text of level kernel can go through");
  EXPECT_EQ(error_of("wrapper w\n  kernel k\n  return\n", Level::kWrapper, "compile_kernels"),
            "not taken: kernel k has no source: the text of a wrapper names kernels only");
  EXPECT_EQ(error_of("x", Level::kSource, "source"), "text of level 'source' cannot be read, expected graph, loop, kernel or wrapper");
  EXPECT_NE(error_of("kernel k()  range 1 grain 1\n", Level::kKernel, "nothing").find("no stage or level 'nothing'"), std::string::npos);
}

}  // namespace
}  // namespace litz
