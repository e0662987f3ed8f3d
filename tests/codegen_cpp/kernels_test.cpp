// Compiled kernels give what the reference interpreter gives.
#include <gtest/gtest.h>

#include "kernel_runner.h"

namespace litz::test {
namespace {

/// Runs at several sizes and cuts; the text of the kernel goes to the message of a failure.
void expect_agrees(KernelRunner& runner, const std::vector<std::map<std::string, int64_t>>& sizes, RunOptions options = {}) {
  for (const auto& s : sizes) {
    options.sizes = s;
    for (int cuts : {0, 3}) {
      options.cuts = cuts;
      ++options.seed;
      std::string difference = runner.compare(options);
      std::string where;
      for (const auto& [name, value] : s) where += fmt::format("{} = {} ", name, value);
      ASSERT_EQ(difference, "") << where << "\n" << runner.kernel_ir() << runner.cpp();
    }
  }
}

TEST(CppKernel, PointwiseOfDynamicLengthIsRightAtEveryTail) {
  KernelRunner runner(R"(program f
  symbol s0 size in [0, inf] hint 32
  buffer x : f32[s0] input strides [1]
  buffer y : f32[s0] input strides [1]
  buffer out : f32[s0] strides [1] promised escapes
  parameters (s0), %x, %y
  op f pointwise (i0 < s0) -> out {
    v0 = load x [i0]
    v1 = load y [i0]
    v2 = exp v0
    v3 = mul v2 v1
    v4 = constant 0.5 : f32
    v5 = add v3 v4
    yield v5
  }
  return %out
)");
  std::vector<std::map<std::string, int64_t>> sizes;
  for (int64_t n = 1; n <= 40; ++n) sizes.push_back({{"s0", n}});
  expect_agrees(runner, sizes);
}

const char* kLayerNorm = R"(program f
  symbol s0 size in [2, inf] hint 32
  symbol s1 size in [1, inf] hint 768
  buffer x : f32[s0, s1] input strides [s1, 1]
  buffer w : f32[s1] input strides [1]
  buffer b : f32[s1] input strides [1]
  buffer mean : f32[s0, 1] flexible
  buffer m2 : f32[s0, 1] flexible
  buffer h : f32[s0, s1] flexible
  buffer x@1 : f32[s0, s1] version_of x strides [s1, 1] promised
  buffer out : bf16[s0, s1] strides [s1, 1] promised escapes
  parameters (s0), (s1), %x, %w, %b
  op var reduction welford f32 (i0 < s0, i1 < 1 ; r0 < s1) -> mean, m2 {
    v0 = load x [i0, r0]
    yield v0
  }
  op norm pointwise (i0 < s0, i1 < s1) -> h {
    v0 = load x [i0, i1]
    v1 = load mean [i0, 0]
    v2 = sub v0 v1
    v3 = load m2 [i0, 0]
    v4 = index_expr s1 : f32
    v5 = div v3 v4
    v6 = constant 1e-05 : f32
    v7 = add v5 v6
    v8 = rsqrt v7
    v9 = mul v2 v8
    v10 = load w [i1]
    v11 = mul v9 v10
    v12 = load b [i1]
    v13 = add v11 v12
    yield v13
  }
  op add pointwise (i0 < s0, i1 < s1) -> x@1 {
    v0 = load x [i0, i1]
    v1 = constant 1 : f32
    v2 = add v0 v1
    yield v2
  }
  op cast pointwise (i0 < s0, i1 < s1) -> out {
    v0 = load h [i0, i1]
    v1 = cast_kept v0 : bf16
    yield v1
  }
  return %out
  mutates x x@1
)";

TEST(CppKernel, LayerNormWithMutationIsOneKernelAndRight) {
  KernelRunner runner(kLayerNorm);
  EXPECT_EQ(runner.kernels().size(), 1u);
  expect_agrees(
      runner,
      {{{"s0", 2}, {"s1", 1}}, {{"s0", 3}, {"s1", 7}}, {{"s0", 5}, {"s1", 33}}, {{"s0", 4}, {"s1", 768}}, {{"s0", 2}, {"s1", 5001}}});
}

TEST(CppKernel, SoftmaxRowIsRightForEveryLength) {
  KernelRunner runner(R"(program f
  symbol s0 size in [1, inf] hint 64
  symbol s1 size in [1, inf] hint 1000
  buffer x : f32[s0, s1] input strides [s1, 1]
  buffer top : f32[s0, 1] flexible
  buffer e : f32[s0, s1] flexible
  buffer total : f32[s0, 1] flexible
  buffer out : f32[s0, s1] strides [s1, 1] promised escapes
  parameters (s0), (s1), %x
  op amax reduction max f32 (i0 < s0, i1 < 1 ; r0 < s1) -> top {
    v0 = load x [i0, r0]
    yield v0
  }
  op exp pointwise (i0 < s0, i1 < s1) -> e {
    v0 = load x [i0, i1]
    v1 = load top [i0, 0]
    v2 = sub v0 v1
    v3 = exp v2
    yield v3
  }
  op sum reduction sum f32 (i0 < s0, i1 < 1 ; r0 < s1) -> total {
    v0 = load e [i0, r0]
    yield v0
  }
  op div pointwise (i0 < s0, i1 < s1) -> out {
    v0 = load e [i0, i1]
    v1 = load total [i0, 0]
    v2 = div v0 v1
    yield v2
  }
  return %out
)");
  EXPECT_EQ(runner.kernels().size(), 1u);
  expect_agrees(
      runner,
      {{{"s0", 3}, {"s1", 1}}, {{"s0", 2}, {"s1", 9}}, {{"s0", 3}, {"s1", 64}}, {{"s0", 2}, {"s1", 1000}}, {{"s0", 1}, {"s1", 20000}}});
}

std::string reduction_program(const std::string& kind, const std::string& dtype, const std::string& result, const std::string& strides,
                              bool last_axis, bool with_index) {
  std::string text = fmt::format(R"(program f
  symbol s0 size in [1, inf] hint 40
  symbol s1 size in [1, inf] hint 50
  buffer x : {0}[s0, s1] input strides {2}
  buffer out : {1}[s{3}] strides [1] promised escapes
)",
                                 dtype, result, strides, last_axis ? 0 : 1);
  const bool two = kind == "welford" || kind == "log_sum_exp" || kind == "max_with_index" || kind == "min_with_index";
  const std::string second = kind.ends_with("index") ? "i64" : result;
  if (two) text += fmt::format("  buffer out2 : {}[s{}] strides [1] promised escapes\n", second, last_axis ? 0 : 1);
  const std::string accumulate = dtype == "bf16" || dtype == "f16"                     ? "f32"
                                 : dtype == "i32" && (kind == "sum" || kind == "prod") ? "i64"
                                                                                       : dtype;
  text += fmt::format("  parameters (s0), (s1), %x\n  op r reduction {} {} (i0 < s{} ; r0 < s{}) -> out{} {{\n", kind, accumulate,
                      last_axis ? 0 : 1, last_axis ? 1 : 0, two ? ", out2" : "");
  text += fmt::format("    v0 = load x [{}]\n", last_axis ? "i0, r0" : "r0, i0");
  if (with_index) text += "    v1 = index_expr r0 : i64\n    yield v0, v1\n";
  else if (accumulate == "i64" && dtype == "i32") text += "    v1 = cast v0 : i64\n    yield v1\n";
  else text += "    yield v0\n";
  return text + "  }\n  return %out" + (two ? ", %out2" : "") + "\n";
}

TEST(CppKernel, EveryReductionIsRightAlongRowsAndColumnsOfEitherOrder) {
  struct Case {
    std::string kind, dtype, result;
    bool with_index = false;
  };
  const std::vector<Case> cases = {{"sum", "f32", "f32"},
                                   {"sum", "bf16", "bf16"},
                                   {"sum", "i32", "i64"},
                                   {"sum", "f64", "f64"},
                                   {"sum", "f16", "f32"},
                                   {"prod", "f32", "f32"},
                                   {"min", "f32", "f32"},
                                   {"max", "bf16", "bf16"},
                                   {"max", "i64", "i64"},
                                   {"min", "u8", "u8"},
                                   {"max", "bool", "bool"},
                                   {"any", "bool", "bool"},
                                   {"all", "bool", "bool"},
                                   {"xor_sum", "i32", "i32"},
                                   {"arg_max", "f32", "i64", true},
                                   {"arg_min", "i32", "i64", true},
                                   {"max_with_index", "f32", "f32", true},
                                   {"min_with_index", "bf16", "bf16", true},
                                   {"welford", "f32", "f32"},
                                   {"welford", "f64", "f64"},
                                   {"log_sum_exp", "f32", "f32"}};
  for (const Case& c : cases) {
    for (bool last_axis : {true, false}) {
      for (const char* strides : {"[s1, 1]", "[1, s0]"}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", c.kind, c.dtype, last_axis ? "rows" : "columns", strides));
        KernelRunner runner(reduction_program(c.kind, c.dtype, c.result, strides, last_axis, c.with_index));
        expect_agrees(runner, {{{"s0", 1}, {"s1", 1}}, {{"s0", 5}, {"s1", 3}}, {{"s0", 33}, {"s1", 17}}, {{"s0", 40}, {"s1", 50}}});
      }
    }
  }
}

TEST(CppKernel, LongSumsAreCascaded) {
  KernelRunner runner(reduction_program("sum", "f32", "f32", "[s1, 1]", true, false));
  RunOptions options;
  options.ranges["x"] = {0, 1};
  options.tolerance = 0.02;  // 4e-7
  expect_agrees(runner, {{{"s0", 2}, {"s1", 300000}}}, options);
  KernelRunner columns(reduction_program("sum", "f32", "f32", "[s1, 1]", false, false));
  expect_agrees(columns, {{{"s0", 100000}, {"s1", 9}}}, options);
}

TEST(CppKernel, TransposedAndPermutedCopiesAreRight) {
  KernelRunner runner(R"(program f
  symbol s0 size in [1, inf] hint 40
  symbol s1 size in [1, inf] hint 50
  buffer x : f32[3, s0, s1] input strides [s0*s1, s1, 1]
  buffer out : f32[3, s0, s1] strides [s0*s1, 1, s0] promised escapes
  parameters (s0), (s1), %x
  op copy pointwise (i0 < 3, i1 < s0, i2 < s1) -> out {
    v0 = load x [i0, i1, i2]
    yield v0
  }
  return %out
)");
  expect_agrees(runner, {{{"s0", 1}, {"s1", 1}}, {{"s0", 7}, {"s1", 9}}, {{"s0", 40}, {"s1", 50}}, {{"s0", 129}, {"s1", 65}}});
}

TEST(CppKernel, IndirectLoadsReportIndicesOutOfRange) {
  KernelRunner runner(R"(program f
  symbol s0 size in [1, inf] hint 40
  symbol s1 size in [1, inf] hint 50
  buffer table : f32[s0, s1] input strides [s1, 1]
  buffer idx : i64[7] input strides [1]
  buffer out : f32[7, s1] strides [s1, 1] promised escapes
  parameters (s0), (s1), %table, %idx
  op embedding pointwise (i0 < 7, i1 < s1) -> out {
    v0 = load idx [i0]
    v1 = check_index v0 < s0 "index out of range in self"
    v2 = indirect v1 as t0 < s0
    v3 = load table [t0, i1]
    yield v3
  }
  return %out
)");
  RunOptions options;
  options.ranges["idx"] = {-4, 3};
  expect_agrees(runner, {{{"s0", 4}, {"s1", 1}}, {{"s0", 4}, {"s1", 19}}, {{"s0", 10}, {"s1", 64}}}, options);
  EXPECT_EQ(runner.error()[0], 0);
  options.ranges["idx"] = {9, 9};
  options.sizes = {{"s0", 5}, {"s1", 3}};
  EXPECT_ANY_THROW(runner.compare(options));  // the interpreter raises
  runner.time(options, 1);
  EXPECT_EQ(runner.error(), (std::vector<int64_t>{1, 9, 5}));
}

TEST(CppKernel, ScatterAddsMeetInOrderWhateverTheSplit) {
  KernelRunner runner(R"(program f
  symbol s1 size in [1, inf] hint 50
  buffer grad : f32[64, s1] input strides [s1, 1]
  buffer idx : i64[64] input strides [1]
  buffer zero : f32[10, s1] flexible
  buffer out : f32[10, s1] version_of zero strides [s1, 1] promised escapes
  parameters (s1), %grad, %idx
  op zeros pointwise (i0 < 10, i1 < s1) -> zero {
    v0 = constant 0 : f32
    yield v0
  }
  op put scatter add (i0 < 64, i1 < s1) -> out over zero at [t0, i1] {
    v0 = load idx [i0]
    v1 = check_index v0 < 10 "index out of range in self"
    v2 = indirect v1 as t0 < 10
    v3 = load grad [i0, i1]
    yield v3
  }
  return %out
)");
  RunOptions options;
  options.ranges["idx"] = {-10, 9};
  expect_agrees(runner, {{{"s1", 1}}, {{"s1", 5}}, {{"s1", 100}}}, options);
}

TEST(CppKernel, ScansRunAlongTheirAxis) {
  for (const char* kind : {"sum", "prod", "max_with_index", "log_sum_exp"}) {
    for (int axis : {0, 1}) {
      const bool index = std::string(kind).ends_with("index");
      SCOPED_TRACE(fmt::format("{} along {}", kind, axis));
      KernelRunner runner(fmt::format(
          R"(program f
  symbol s0 size in [1, inf] hint 40
  symbol s1 size in [1, inf] hint 50
  buffer x : f32[s0, s1] input strides [s1, 1]
  buffer out : f32[s0, s1] strides [s1, 1] promised escapes
{}  parameters (s0), (s1), %x
  op running scan {} f32 along {} (i0 < s0, i1 < s1) -> out{} {{
    v0 = load x [i0, i1]
{}  }}
  return %out{}
)",
          index ? "  buffer where : i64[s0, s1] strides [s1, 1] promised escapes\n" : "", kind, axis, index ? ", where" : "",
          index ? fmt::format("    v1 = index_expr i{} : i64\n    yield v0, v1\n", axis) : "    yield v0\n", index ? ", %where" : ""));
      expect_agrees(runner, {{{"s0", 1}, {"s1", 1}}, {{"s0", 9}, {"s1", 5}}, {{"s0", 30}, {"s1", 33}}});
    }
  }
}

TEST(CppKernel, MaskedLoadsReadNothingOutside) {
  for (const char* strides : {"[s1, 1]", "[1, s0]"}) {
    KernelRunner runner(fmt::format(R"(program f
  symbol s0 size in [1, inf] hint 40
  symbol s1 size in [1, inf] hint 50
  buffer x : f32[s0, s1] input strides {0}
  buffer out : f32[s0 + 3, s1 + 2] strides [s1 + 2, 1] promised escapes
  parameters (s0), (s1), %x
  op pad pointwise (i0 < s0 + 3, i1 < s1 + 2) -> out {{
    v0 = index_expr i0 - 2 : i64
    v1 = constant 0 : i64
    v2 = ge v0 v1
    v3 = index_expr s0 : i64
    v4 = lt v0 v3
    v5 = index_expr i1 - 1 : i64
    v6 = ge v5 v1
    v7 = index_expr s1 : i64
    v8 = lt v5 v7
    v9 = logical_and v2 v4
    v10 = logical_and v6 v8
    v11 = logical_and v9 v10
    v12 = load x [i0 - 2, i1 - 1] if v11
    v13 = constant 3 : f32
    v14 = where v11 v12 v13
    yield v14
  }}
  return %out
)",
                                    strides));
    expect_agrees(runner, {{{"s0", 1}, {"s1", 1}}, {{"s0", 9}, {"s1", 5}}, {{"s0", 30}, {"s1", 33}}});
  }
}

}  // namespace
}  // namespace litz::test
