// Reductions cut into pieces give what they gave whole, in the reference interpreter: ties, NaN, tails of every length.
#include <gtest/gtest.h>

#include <cmath>

#include "litz/loop/reference_interpreter.h"
#include "litz/lower/lower_graph.h"
#include "litz/schedule/split_reduction.h"
#include "tied_values.h"

namespace litz {
namespace {

constexpr const char* kSum = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
constexpr const char* kVariance =
    "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)";

std::string text_of(const std::string& schema, const std::string& type, const std::string& sizes, const std::string& call, int results) {
  std::string outputs = "%y";
  if (results == 2) outputs = "%y, %y.1";
  return fmt::format("graph g\nschema {}\ninput %x : {}[{}]\n{} = {}\nreturn {}\n", schema, type, sizes, outputs, call, outputs);
}

void expect_same(const HostTensor& a, const HostTensor& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.sizes, b.sizes) << what;
  for_each_coordinate(a.sizes, [&](const std::vector<int64_t>& at) {
    const Scalar x = a.at(at), y = b.at(at);
    EXPECT_EQ(x.integer, y.integer) << what;
    EXPECT_TRUE((std::isnan(x.real) && std::isnan(y.real)) || x.real == y.real ||
                std::fabs(x.real - y.real) <= tolerance * (1 + std::fabs(x.real)))
        << what << ": " << x.real << " and " << y.real;
  });
}

void check(const std::string& text, DType dtype, std::vector<int64_t> sizes, double tolerance, bool has_specials,
           const SplitOptions& options) {
  auto graph = parse_graph(text);
  verify(*graph);
  auto program = lower_graph(*graph);
  ASSERT_TRUE(program) << program.reason();
  ASSERT_TRUE((*program)->fallbacks.empty()) << (*program)->fallbacks[0].reason;
  ReferenceInputs inputs;
  for (const auto& parameter : (*program)->parameters) {
    if (std::holds_alternative<Expr>(parameter)) inputs.parameters.emplace_back(sizes[0]);
    else inputs.parameters.emplace_back(tied_values(dtype, sizes, has_specials));
  }
  const ReferenceOutputs expected = run_reference(**program, inputs);
  std::vector<Refusal> refusals;
  ASSERT_TRUE(split_reduction(**program, refusals, options)) << text;
  verify(**program);
  const ReferenceOutputs found = run_reference(**program, inputs);
  for (size_t k = 0; k < expected.outputs.size(); ++k)
    expect_same(std::get<HostTensor>(expected.outputs[k]), std::get<HostTensor>(found.outputs[k]), tolerance, text + to_text(**program));
  auto again = parse_loop_program(to_text(**program));
  EXPECT_EQ(to_text(*again), to_text(**program));
}

SplitOptions small(int64_t pieces) {
  SplitOptions options;
  options.most_pieces = pieces;
  options.piece_elements = 1;
  return options;
}

TEST(SplitReduction, EveryKindGivesTheSameFromPieces) {
  for (int64_t n : {7, 12, 31, 64})
    for (int64_t pieces : {2, 3, 8}) {
      const std::string sizes = fmt::format("{}", n);
      struct Exact {
        const char *schema, *call;
        int results;
      };
      for (const Exact& e :
           {Exact{"aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", "aten.amax(%x) -> f32[]", 1},
            Exact{"aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", "aten.amin(%x) -> f32[]", 1},
            Exact{"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", "aten.argmax(%x) -> i64[]", 1},
            Exact{"aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", "aten.argmin(%x, 0) -> i64[]", 1},
            Exact{"aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", "aten.any.dims(%x) -> bool[]", 1},
            Exact{"aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", "aten.all.dims(%x) -> bool[]", 1},
            Exact{"aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
                  "aten.max.dim(%x, 0) -> f32[], i64[]", 2}})
        for (bool has_specials : {false, true})
          check(text_of(e.schema, "f32", sizes, e.call, e.results), DType::kFloat32, {n}, 0, has_specials, small(pieces));
      for (bool has_specials : {false, true}) {
        check(text_of(kSum, "f32", sizes, "aten.sum.dim_IntList(%x, None) -> f32[]", 1), DType::kFloat32, {n}, 1e-6, has_specials,
              small(pieces));
        check(text_of(kSum, "bf16", sizes, "aten.sum.dim_IntList(%x, None) -> bf16[]", 1), DType::kBFloat16, {n}, 0, has_specials,
              small(pieces));
        check(text_of(kVariance, "f32", sizes, "aten.var_mean.correction(%x) -> f32[], f32[]", 2), DType::kFloat32, {n}, 1e-6, has_specials,
              small(pieces));
      }
      check(text_of(kSum, "i64", sizes, "aten.sum.dim_IntList(%x, None) -> i64[]", 1), DType::kInt64, {n}, 0, false, small(pieces));
      check(text_of("aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", "f64", sizes,
                    "aten.prod.dim_int(%x, 0) -> f64[]", 1),
            DType::kFloat64, {n}, 1e-14, false, small(pieces));
    }
}

TEST(SplitReduction, TheLongestOfSeveralDimensionsIsCutAndRowsStayApart) {
  check(text_of(kSum, "f32", "3, 5, 23", "aten.sum.dim_IntList(%x, [1, 2]) -> f32[3]", 1), DType::kFloat32, {3, 5, 23}, 1e-6, true,
        small(4));
  check(text_of(kSum, "f32", "23, 2", "aten.sum.dim_IntList(%x, [0], True) -> f32[1, 2]", 1), DType::kFloat32, {23, 2}, 1e-6, true,
        small(4));
  check(text_of(kVariance, "bf16", "2, 19", "aten.var_mean.correction(%x, [1]) -> bf16[2], bf16[2]", 2), DType::kBFloat16, {2, 19}, 1e-2,
        false, small(4));
  check(text_of("aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", "i64", "3, 40", "aten.argmax(%x) -> i64[]", 1),
        DType::kInt64, {3, 40}, 0, false, small(7));
}

TEST(SplitReduction, PiecesOfADynamicRangeMayBeEmpty) {
  for (int64_t n : {1, 2, 5, 33}) {
    const std::string text = fmt::format(
        "graph g\nschema {}\nsymbol s0 in [0, inf] hint 1000\ninput %s0 : size s0\ninput %x : f32[s0]\n%y = aten.sum.dim_IntList(%x, None) -> "
        "f32[]\nreturn %y\n",
        kSum);
    check(text, DType::kFloat32, {n}, 1e-6, false, small(8));
  }
}

TEST(SplitReduction, WhatNeedsNoSplitOrMayNotBeSplitIsLeft) {
  std::vector<Refusal> refusals;
  SplitOptions strict = small(4);
  strict.exact_only = true;
  auto is_split = [&](const std::string& text, const SplitOptions& options) {
    auto graph = parse_graph(text);
    auto program = lower_graph(*graph);
    return split_reduction(**program, refusals, options);
  };
  const std::string sum = text_of(kSum, "f32", "40", "aten.sum.dim_IntList(%x, None) -> f32[]", 1);
  EXPECT_TRUE(is_split(sum, small(4)));
  EXPECT_FALSE(is_split(sum, SplitOptions{}));  // too little work
  EXPECT_TRUE(refusals.empty());
  EXPECT_FALSE(is_split(sum, strict));
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_NE(refusals[0].reason.find("the order of combining must be eager's"), std::string::npos);
  EXPECT_TRUE(is_split(text_of(kSum, "i64", "40", "aten.sum.dim_IntList(%x, None) -> i64[]", 1), strict));
  EXPECT_FALSE(is_split(text_of(kSum, "f32", "8, 40", "aten.sum.dim_IntList(%x, [1]) -> f32[8]", 1), small(4)));  // enough rows
  SplitOptions long_ones = small(4);
  long_ones.least_elements = 41;
  EXPECT_FALSE(is_split(sum, long_ones));
}

TEST(SplitReduction, RowsShareTheirPieces) {
  auto graph = parse_graph(text_of(kSum, "f32", "8, 40", "aten.sum.dim_IntList(%x, [1]) -> f32[8]", 1));
  auto program = lower_graph(*graph);
  SplitOptions options = small(20);
  options.enough_values = 16;
  options.enough_pieces = 32;
  std::vector<Refusal> refusals;
  ASSERT_TRUE(split_reduction(**program, refusals, options));
  EXPECT_EQ((*program)->operations[0]->outputs[0]->sizes[1].integer(), 4);  // 32 / 8
}

}  // namespace
}  // namespace litz
