// What is no kernel is refused with the line, the column, what was expected and what was found; nothing crashes.
#include <gtest/gtest.h>

#include "litz/codegen/cpp/kernel_text.h"
#include "litz/codegen/triton/triton_backend.h"
#include "litz/kernel/kernel.h"
#include "text_changes.h"

namespace litz {
namespace {

constexpr std::string_view kKernel =
    R"text(kernel k0(x: inout f32[s0, 768], idx: in i64[s0] on gpu 1, out: out bf16[s0, 768], s0: number)  range s0 grain max(1, 64 // s0)
  symbol s0 size in [2, 4096] hint 32
  source mean "aten.mean.dim at model.py:3: y = x.mean(\"all\")"
  source put
  axes r0 < 768, i0 < s0, i1 < 768, t0 < s0 indirect, lane_2 < 16
  scratch e: f32[768]
  from mean
  v0: f32 = constant 768.0
  v1: f32 = constant -inf
  parallel i0 in 0..s0
    sum0 = sum.init f32 over r0
    vector r0 in 0..768 step 32 cascade 4
      v2: f32<32> = load x[r0 + i0*768]
      sum0.update v2
    v3: f32 = sum0.finish
    v4: f32 = div v3 v0
    best = arg_max.init f32 i64
    for i1 in 0..768
      v5: f32 = load x[i0*768 + i1]
      v6: i64 = index_expr i1
      best.update v5 v6
    v7: i64 = best.finish
    from put
    v8: i64 = load idx[i0]
    v9: bool = lt v8 v7
    v10: i64 = check_index v8 < s0 if v9 "index out of range"
    v11: i64 = indirect v10 as t0
    v12: bool = assert_true v9 "must hold"
    vector i1 in 0..768 step 16 lane lane_2
      v13: f32<16> = load x[i0*768 + i1] if v9 else -inf
      v14: f32<16> = sub v13 v4
      v15: bf16<16> = cast_kept v14
      store out[i0*768 + i1] = v15
      store e[i1 - lane_2] = v14
      scatter.add x[i1 + t0*768] = v14
)text";

std::string error_of(std::string_view text) {
  try {
    parse_kernels(text);
  } catch (const UserError& e) { return e.what(); }
  return "no error";
}

/// The sample with one piece of text replaced.
std::string with(std::string_view from, std::string_view to) {
  std::string text(kKernel);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(KernelTextErrors, TheSampleItselfIsAKernel) {
  auto kernels = parse_kernels(kKernel);
  const Kernel& k = *kernels.at(0);
  EXPECT_EQ(to_text(k), kKernel);
  EXPECT_TRUE(k.reports_errors);
  EXPECT_EQ(k.assertions, std::vector<std::string>{"must hold"});
  EXPECT_EQ(k.parameters[1].buffer->device, (Device{"gpu", 1}));
  EXPECT_EQ(k.origins[0].note, "aten.mean.dim at model.py:3: y = x.mean(\"all\")");
  EXPECT_EQ(k.accumulators[0].lanes.size(), 1u);
  EXPECT_EQ(k.values[2].varies.size(), 1u);
}

TEST(KernelTextErrors, MistakesAreNamedWithLineAndColumn) {
  struct Case {
    std::string text, message;
  };
  const Case cases[] = {
      {"", "kernel ir: expected a line \"kernel name(...)\", found no line"},
      {"loop f\n", "kernel ir, line 1, column 1: expected kernel, found \"loop f\""},
      {with("x: inout f32", "x: inout f99"), "kernel ir, line 1, column 20: expected an element type, found \"f99[s0, 768], idx: i\""},
      {with("idx: in i64", "idx: on i64"),
       "kernel ir, line 1, column 39: expected in, out, inout or number, found \"on i64[s0] on gpu 1,\""},
      {with("idx: in", "x: in"), "kernel ir, line 1, column 36: x stands twice"},
      {with("grain", "grin"), "kernel ir, line 1, column 106: expected grain, found \"grin max(1, 64 // s0\""},
      {with("64 // s0)\n", "64 // s0) narrow 3\n"), "kernel ir, line 1, column 136: expected the end of the line, found \"3\""},
      {with("in [2, 4096]", "in [4096, 2]"), "kernel ir, line 2, column 29: symbol s0: no number lies in that range"},
      {with("source put", "source mean"), "kernel ir, line 4, column 14: source mean stands twice"},
      {with("i1 < 768,", "i1 < s9,"), "kernel ir, line 5, column 32: no symbol 's9', found 's9, t0 < s0 '"},
      {with("i1 < 768,", "i0 < 768,"), "kernel ir, line 5, column 29: symbol i0 stands twice"},
      {with("  from mean", "  from nowhere"),
       "kernel ir, line 7, column 15: expected a name with a source line above, found the end of the line"},
      {with("constant 768.0", "constant many"), "kernel ir, line 8, column 22: expected a number, found \"many\""},
      {with("i0 in 0..s0", "i0 in 0..s0 + 1"), "kernel ir, line 10, column 21: expected s0, the extent of axis i0, found s0 + 1"},
      {with("sum.init", "total.init"),
       "kernel ir, line 11, column 12: expected a kind of reduction and .init, found \"total.init f32 over \""},
      {with("over r0", "over lane_2"), "kernel ir, line 11, column 36: no loop with lanes along lane_2 follows"},
      {with("step 32", "step 0"), "kernel ir, line 12, column 30: expected a number from 1 to 1048576, found \"0 cascade 4\""},
      {with("v2: f32<32>", "v2: f32<16>"), "kernel ir, line 13, column 18: the value has lanes <32>, the type says <16>"},
      {with("v2: f32<32>", "v2: f16<32>"), "kernel ir, line 13, column 40: the element is f32, expected f16"},
      {with("load x[r0", "load y[r0"),
       "kernel ir, line 13, column 26: expected a tensor or scratch of the kernel, found \"y[r0 + i0*768]\""},
      {with("load x[r0 + i0*768]", "load x[i1 + i0*768]"), "kernel ir, line 13, column 28: no symbol 'i1', found 'i1 + i0*768]'"},
      {with("sum0.update v2", "sum1.update v2"),
       "kernel ir, line 14, column 19: no accumulator sum1 has its init above in this body or one around it"},
      {with("sum0.update v2", "sum0.renew v2"),
       "kernel ir, line 14, column 18: expected a loop, store, scatter, from, the definition of a value or an accumulator's update, found \"sum0.renew\""},
      {with("v4: f32 = div v3 v0", "v4: f32 = div v3 v2"),
       "kernel ir, line 16, column 22: expected a value defined above in this body or one around it, found \"v2\""},
      {with("v4: f32 = div v3 v0", "v4: f64 = div v3 v0"), "kernel ir, line 16, column 24: the result is f64, expected f32"},
      {with("best.update v5 v6", "best.update v5 v5"), "kernel ir, line 21, column 24: the value is f32, expected i64"},
      {with("v7: i64 = best.finish", "v7: i64, v71: i64 = best.finish"), "arg_max gives 1 values, found 2"},
      {with("v9: bool = lt", "v9: bool = lesser"),
       "expected load, an accumulator's finish or an op of loop/ops.def, found \"lesser v8 v7\""},
      {with("if v9 \"index", "if v8 \"index"), "the predicate is i64, expected bool"},
      {with("as t0", "as i1"), "expected an indirect symbol of the line axes that is not bound yet, found \"i1\""},
      {with("\"must hold\"", "\"must hold"), "expected a closing quote, found \"\"must hold\""},
      {with("lane lane_2", "lane r0"), "lane r0 is below 768, the step is 16"},
      {with("store out[i0*768 + i1] = v15", "store out[i0*768 + i1] = v14"),
       "kernel ir, line 33, column 35: the value is f32, expected bf16"},
      {with("      store e", "     store e"), "kernel ir, line 34, column 6: expected 6 blanks before the statement"},
      {with("store e[i1", "store idx[i1"), "the value is f32, expected i64"},
      {with("load idx[i0]", "load out[i0]"), "the element is bf16, expected i64"},
  };
  for (const Case& c : cases)
    EXPECT_NE(error_of(c.text).find(c.message), std::string::npos) << error_of(c.text) << "\nexpected: " << c.message;
}

TEST(KernelTextErrors, WhatTheVerifierRefusesIsTheUsersMistake) {
  const std::string text =
      "kernel k(x: in f32[4])  range 4 grain 1\n  axes i0 < 4\n  for i0 in 0..4\n    v0: f32 = load x[i0]\n    store x[i0] = v0\n";
  EXPECT_NE(error_of(text).find("store of parameter x of another kind"), std::string::npos) << error_of(text);
}

TEST(KernelTextErrors, NarrowMustHold) {
  const std::string narrow = with("64 // s0)\n", "64 // s0) narrow\n");
  EXPECT_EQ(error_of(narrow), "no error");
  std::string unbounded = narrow;
  unbounded.replace(unbounded.find("4096"), 4, "inf");
  EXPECT_NE(error_of(unbounded).find("an offset may leave 32 bits, the kernel says narrow"), std::string::npos) << error_of(unbounded);
}

/// Whatever stands in the text: a kernel that prints and reads back to the same, and that a generator spells or refuses; or a UserError.
void expect_no_crash(const std::string& text, int& parsed) {
  std::vector<std::unique_ptr<Kernel>> kernels;
  try {
    kernels = parse_kernels(text);
  } catch (const UserError&) { return; } catch (const std::exception& e) {
    ADD_FAILURE() << e.what() << "\n" << text;
    return;
  }
  ++parsed;
  for (const auto& kernel : kernels) {
    const std::string once = to_text(*kernel);
    EXPECT_EQ(to_text(*parse_kernels(once).at(0)), once) << text;
    try {
      (void)kernel_text(*kernel);
      (void)triton_source(*kernel);
    } catch (const InternalError&) {  // a tree that no pass makes: found, not spelled wrong
    }
  }
}

TEST(KernelTextErrors, TextsThatEndEarlyAreKernelsOrUserErrors) {
  int parsed = 0;
  test::for_each_truncation(kKernel, [&](const std::string& text) { expect_no_crash(text, parsed); });
  EXPECT_GT(parsed, 10);
}

TEST(KernelTextErrors, ChangedTextsAreKernelsOrUserErrors) {
  std::mt19937 random(23);
  int parsed = 0;
  for (int round = 0; round < 2000; ++round) {
    expect_no_crash(test::change_tokens(kKernel, random), parsed);
    if (HasFailure()) return;
  }
  EXPECT_GT(parsed, 50);
}

TEST(KernelTextErrors, DeepNestingIsRefused) {
  std::string text = "kernel k()  range 1 grain 1\n  axes a0 < 2";
  for (int k = 1; k < 100; ++k) text += fmt::format(", a{} < 2", k);
  for (int k = 0; k < 100; ++k) text += "\n" + std::string(2 * k + 2, ' ') + fmt::format("for a{} in 0..2", k);
  EXPECT_NE(error_of(text).find("more than 64 loops inside one another"), std::string::npos) << error_of(text);
  const std::string brackets(100000, '(');
  EXPECT_NE(error_of("kernel k()  range " + brackets + "\n").find("nested less deeply"), std::string::npos);
}

}  // namespace
}  // namespace litz
