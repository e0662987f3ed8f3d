#include "litz/loop/reference_interpreter.h"

#include <gtest/gtest.h>

#include <cmath>

namespace litz {
namespace {

HostTensor tensor(std::vector<int64_t> sizes, std::vector<double> values, DType dtype = DType::kFloat32) {
  HostTensor t = HostTensor::zeros(dtype, std::move(sizes));
  size_t k = 0;
  for_each_coordinate(t.sizes, [&](const std::vector<int64_t>& at) { t.set(at, scalar_of(dtype, values[k++])); });
  return t;
}

std::vector<double> values(const HostArgument& a) {
  const auto& t = std::get<HostTensor>(a);
  std::vector<double> result;
  for_each_coordinate(t.sizes, [&](const std::vector<int64_t>& at) { result.push_back(t.at(at).number().as_double()); });
  return result;
}

TEST(ReferenceInterpreter, MeanAndDeviationsOverStridedRows) {
  auto program = parse_loop_program(R"(program f
  symbol s0 size in [1, inf]
  buffer x : f32[s0, 3] input strides [3, 1]
  buffer mean : f32[s0] flexible
  buffer m2 : f32[s0] flexible
  buffer x@1 : f32[s0, 3] version_of x strides [3, 1]
  parameters (s0), %x
  op var reduction welford f32 (i0 < s0 ; r0 < 3) -> mean, m2 {
    v0 = load x [i0, r0]
    yield v0
  }
  op add pointwise (i0 < s0, i1 < 3) -> x@1 {
    v0 = load x [i0, i1]
    v1 = constant 1.0 : f32
    v2 = add v0 v1
    yield v2
  }
  mutates x x@1
  return %mean, %m2, %x@1{a0 < 3, a1 < s0 -> [a1, a0]}, (s0 + 1)
)");
  HostTensor x = tensor({3, 2}, {1, 4, 2, 5, 6, 9});  // columns as rows
  std::swap(x.sizes[0], x.sizes[1]);
  std::swap(x.strides[0], x.strides[1]);
  ReferenceOutputs out = run_reference(*program, {{int64_t{2}, x}, {}});
  EXPECT_EQ(values(out.outputs[0]), (std::vector<double>{3, 6}));
  EXPECT_EQ(values(out.outputs[1]), (std::vector<double>{14, 14}));
  EXPECT_EQ(values(out.outputs[2]), (std::vector<double>{2, 5, 3, 6, 7, 10}));
  EXPECT_EQ(std::get<int64_t>(out.outputs[3]), 3);
  ASSERT_EQ(out.mutations.size(), 1u);
  EXPECT_EQ(out.mutations[0].first, 1u);
  EXPECT_EQ(values(HostArgument(x)), (std::vector<double>{1, 2, 6, 4, 5, 9}));
}

std::unique_ptr<LoopProgram> reduction(std::string_view kind, std::string_view dtype, bool with_index, std::string_view outputs) {
  std::string text = "program f\n  buffer x : f32[4] input strides [1]\n";
  for (int k = 0; k < (outputs.find(',') == std::string_view::npos ? 1 : 2); ++k)
    text +=
        fmt::format("  buffer {} : {}[] flexible\n", k ? "b" : "a", (k == 1 && with_index) || (kind.substr(0, 3) == "arg") ? "i64" : dtype);
  text += "  parameters %x\n";
  text += fmt::format("  op r reduction {} {} ( ; r0 < 4) -> {} {{\n    v0 = load x [r0]\n", kind, dtype, outputs);
  if (dtype != "f32") text += fmt::format("    v1 = cast v0 : {}\n", dtype);
  if (with_index) text += "    v1 = index_expr r0 : i64\n    yield v0, v1\n";
  else text += dtype != "f32" ? "    yield v1\n" : "    yield v0\n";
  text += outputs.size() > 1 ? "  }\n  return %a, %b\n" : "  }\n  return %a\n";
  return parse_loop_program(text);
}

std::vector<double> reduce(std::string_view kind, std::vector<double> in, std::string_view dtype = "f32", bool with_index = false,
                           std::string_view outputs = "a") {
  auto program = reduction(kind, dtype, with_index, outputs);
  ReferenceOutputs out = run_reference(*program, {{tensor({4}, in)}, {}});
  std::vector<double> result;
  for (const auto& o : out.outputs) result.push_back(values(o)[0]);
  return result;
}

TEST(ReferenceInterpreter, ArgReductionsTakeTheFirstOfEqualsAndTheFirstNan) {
  EXPECT_EQ(reduce("arg_max", {1, 7, 7, 2}, "f32", true), std::vector<double>{1});
  EXPECT_EQ(reduce("arg_min", {1, 7, 1, 2}, "f32", true), std::vector<double>{0});
  EXPECT_EQ(reduce("arg_max", {1, NAN, 9, NAN}, "f32", true), std::vector<double>{1});
  EXPECT_EQ(reduce("arg_max", {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, "f32", true), std::vector<double>{0});
  EXPECT_EQ(reduce("max_with_index", {3, 5, 5, 1}, "f32", true, "a, b"), (std::vector<double>{5, 1}));
}

TEST(ReferenceInterpreter, EveryPlainReductionHasItsMeaning) {
  EXPECT_EQ(reduce("sum", {1, 2, 3, 4}), std::vector<double>{10});
  EXPECT_EQ(reduce("prod", {1, 2, 3, 4}), std::vector<double>{24});
  EXPECT_EQ(reduce("min", {3, 2, 3, 4}), std::vector<double>{2});
  EXPECT_TRUE(std::isnan(reduce("max", {3, NAN, 3, 4})[0]));
  EXPECT_EQ(reduce("any", {0, 0, 3, 0}, "bool"), std::vector<double>{1});
  EXPECT_EQ(reduce("all", {1, 0, 3, 1}, "bool"), std::vector<double>{0});
  EXPECT_EQ(reduce("xor_sum", {1, 2, 4, 7}, "i32"), std::vector<double>{0});
  auto lse = reduce("log_sum_exp", {0, 1, 2, -INFINITY}, "f32", false, "a, b");
  EXPECT_EQ(lse[0], 2);
  EXPECT_NEAR(lse[1], 1 + std::exp(-1) + std::exp(-2), 1e-6);
}

TEST(ReferenceInterpreter, AnIndexOutOfRangeRaisesAsEager) {
  auto program = parse_loop_program(R"(program f
  buffer x : f32[3] input strides [1]
  buffer i : i64[2] input strides [1]
  buffer y : f32[2] flexible
  parameters %x, %i
  op a pointwise (i0 < 2) -> y {
    v0 = load i [i0]
    v1 = check_index v0 < 3 "index out of range in self"
    v2 = indirect v1 as t0 < 3
    v3 = load x [t0]
    yield v3
  }
  return %y
)");
  HostTensor x = tensor({3}, {1, 2, 3});
  EXPECT_EQ(values(run_reference(*program, {{x, tensor({2}, {-1, 0}, DType::kInt64)}, {}}).outputs[0]), (std::vector<double>{3, 1}));
  EXPECT_THROW(run_reference(*program, {{x, tensor({2}, {3, 0}, DType::kInt64)}, {}}), UserError);
}

TEST(ReferenceInterpreter, MatrixProductsNeedNoRunnerAndOtherCallsAreRefused) {
  auto text = [](std::string_view op, std::string_view schema) {
    return fmt::format(R"(program f
  schema "{}"
  buffer x : f32[2, 3] input strides [3, 1]
  buffer y : f32[2, 2] flexible
  parameters %x
  op a extern {} planned -> y (%x, %x{{a0 < 3, a1 < 2 -> [a1, a0]}})
  return %y
)",
                       schema, op);
  };
  HostTensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  auto mm = parse_loop_program(text("aten.mm", "aten::mm(Tensor self, Tensor mat2) -> Tensor"));
  EXPECT_EQ(values(run_reference(*mm, {{x}, {}}).outputs[0]), (std::vector<double>{14, 32, 32, 77}));
  auto other = parse_loop_program(text("aten.cdist", "aten::cdist(Tensor a, Tensor b) -> Tensor"));
  EXPECT_THROW(run_reference(*other, {{x}, {}}), UserError);
}

}  // namespace
}  // namespace litz
