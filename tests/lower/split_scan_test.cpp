// Scans cut into pieces give what they gave whole, in the reference interpreter: ties, NaN, infinities, tails of every length.
#include <gtest/gtest.h>

#include <cmath>

#include "litz/loop/reference_interpreter.h"
#include "litz/lower/lower_graph.h"
#include "litz/schedule/split_scan.h"
#include "tied_values.h"

namespace litz {
namespace {

struct Scan {
  const char *op, *results;  // "-> f32[..], i64[..]" with {} for the sizes
  DType dtype;
  double tolerance;
  bool has_specials;
};

std::string text_of(const Scan& scan, const std::string& sizes, int dim, const std::string& symbols = "") {
  const std::string op = scan.op;
  const bool has_index = op == "cummax" || op == "cummin";
  const std::string schema = has_index ? fmt::format("aten::{}(Tensor self, int dim) -> (Tensor values, Tensor indices)", op)
                                       : fmt::format("aten::{}(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", op);
  std::string results = scan.results;
  for (size_t at; (at = results.find("{}")) != std::string::npos;) results.replace(at, 2, sizes);
  return fmt::format("graph g\nschema {}\n{}input %x : {}[{}]\n{} = aten.{}(%x, {}) {}\nreturn {}\n", schema, symbols,
                     dtype_name(scan.dtype), sizes, has_index ? "%y, %y.1" : "%y", op, dim, results, has_index ? "%y, %y.1" : "%y");
}

std::unique_ptr<LoopProgram> lowered(const std::string& text, std::unique_ptr<Graph>& graph) {
  graph = parse_graph(text);
  verify(*graph);
  auto program = lower_graph(*graph);
  EXPECT_TRUE(program && (*program)->fallbacks.empty()) << text;
  return std::move(*program);
}

ScanSplitOptions small(int64_t pieces) { return {.enough_rows = 64, .most_pieces = pieces, .piece_elements = 1}; }

void check(const Scan& scan, const std::string& text, const std::vector<int64_t>& sizes, int64_t pieces) {
  std::unique_ptr<Graph> graph;
  auto program = lowered(text, graph);
  ReferenceInputs inputs;
  for (const auto& parameter : program->parameters) {
    if (std::holds_alternative<Expr>(parameter)) inputs.parameters.emplace_back(sizes[0]);
    else inputs.parameters.emplace_back(tied_values(scan.dtype, sizes, scan.has_specials));
  }
  const ReferenceOutputs expected = run_reference(*program, inputs);
  std::vector<Refusal> refusals;
  ASSERT_TRUE(split_scan(*program, refusals, small(pieces))) << text;
  verify(*program);
  const ReferenceOutputs found = run_reference(*program, inputs);
  for (size_t k = 0; k < expected.outputs.size(); ++k) {
    const auto &a = std::get<HostTensor>(expected.outputs[k]), &b = std::get<HostTensor>(found.outputs[k]);
    ASSERT_EQ(a.sizes, b.sizes);
    for_each_coordinate(a.sizes, [&](const std::vector<int64_t>& at) {
      const Scalar x = a.at(at), y = b.at(at);
      EXPECT_EQ(x.integer, y.integer) << text << to_text(*program);
      EXPECT_TRUE((std::isnan(x.real) && std::isnan(y.real)) || x.real == y.real ||
                  std::fabs(x.real - y.real) <= scan.tolerance * (1 + std::fabs(x.real)))
          << text << ": " << x.real << " and " << y.real;
    });
  }
  EXPECT_EQ(to_text(*parse_loop_program(to_text(*program))), to_text(*program));
}

constexpr Scan kScans[] = {
    {"cumsum", "-> f32[{}]", DType::kFloat32, 1e-6, true},
    {"cumsum", "-> bf16[{}]", DType::kBFloat16, 1e-2, false},
    {"cumsum", "-> i64[{}]", DType::kInt32, 0, false},
    {"cumprod", "-> f64[{}]", DType::kFloat64, 1e-14, false},
    {"cummax", "-> f32[{}], i64[{}]", DType::kFloat32, 0, true},
    {"cummin", "-> f32[{}], i64[{}]", DType::kFloat32, 0, true},
    {"cummax", "-> bf16[{}], i64[{}]", DType::kBFloat16, 0, true},
    {"cummin", "-> i32[{}], i64[{}]", DType::kInt32, 0, false},
    {"cummax", "-> bool[{}], i64[{}]", DType::kBool, 0, false},
};

TEST(SplitScan, EveryKindGivesTheSameFromPieces) {
  for (const Scan& scan : kScans)
    for (int64_t n : {8, 12, 31, 64})
      for (int64_t pieces : {2, 3, 8}) {
        check(scan, text_of(scan, fmt::format("{}", n), 0), {n}, pieces);
        check(scan, text_of(scan, fmt::format("2, {}", n), 1), {2, n}, pieces);
        check(scan, text_of(scan, fmt::format("3, {}, 2", n), 1), {3, n, 2}, pieces);
      }
}

TEST(SplitScan, PiecesOfADynamicRangeMayBeEmpty) {
  for (const Scan& scan : kScans)
    for (int64_t n : {1, 2, 5, 33}) check(scan, text_of(scan, "s0", 0, "symbol s0 in [0, inf] hint 1000\ninput %s0 : size s0\n"), {n}, 8);
}

TEST(SplitScan, WhatNeedsNoSplitOrMayNotBeSplitIsLeft) {
  std::vector<Refusal> refusals;
  auto is_split = [&](const Scan& scan, const std::string& sizes, int dim, const ScanSplitOptions& options) {
    std::unique_ptr<Graph> graph;
    return split_scan(*lowered(text_of(scan, sizes, dim), graph), refusals, options);
  };
  EXPECT_FALSE(is_split(kScans[0], "40", 0, ScanSplitOptions{}));  // too little work
  EXPECT_FALSE(is_split(kScans[0], "64, 40", 1, small(4)));        // enough rows
  EXPECT_FALSE(is_split(kScans[0], "2, 1", 1, small(4)));
  EXPECT_TRUE(refusals.empty());
  ScanSplitOptions strict = small(4);
  strict.exact_only = true;
  EXPECT_FALSE(is_split(kScans[0], "40", 0, strict));
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_NE(refusals[0].reason.find("the order of combining must be eager's"), std::string::npos);
  EXPECT_TRUE(is_split(kScans[2], "40", 0, strict));  // integers
  EXPECT_TRUE(is_split(kScans[4], "40", 0, strict));  // extrema
}

}  // namespace
}  // namespace litz
