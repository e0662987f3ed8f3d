#include <gtest/gtest.h>

#include "litz/loop/program.h"
#include "litz/support/check.h"
#include "text_changes.h"

namespace litz {
namespace {

constexpr std::string_view kProgram = R"(program f
  symbol s0 size in [2, inf] hint 32
  symbol u0 unbacked in [0, 100]
  schema "aten::mm(Tensor self, Tensor mat2) -> Tensor"
  schema random "aten::bernoulli.p(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor"
  schema "aten::item(Tensor self) -> Scalar"
  buffer x : f32[s0, 768] input strides [768, 1]
  buffer w : bf16[768] on spad 1 constant strides [1]
  buffer x@1 : f32[s0, 768] version_of x strides [768, 1] promised
  buffer mean : f32[s0, 1] flexible
  buffer m2 : f32[s0, 1] flexible
  buffer c : f32[2, 3, 4, 5] flexible wants [0, 2, 3, 1]
  buffer d : f32[3, 2] flexible wants [0, 1] binding escapes
  buffer e : f32[s0, s0] flexible
  buffer idx : i64[5] input strides [1] offset (s0 - 1)
  buffer sc : f32[s0, 768] flexible
  buffer cum : f32[s0, 768] flexible
  buffer best : i64[s0] flexible
  parameters (s0), %x, %idx
  op var reduction welford f32 (i0 < s0, i1 < 1 ; r0 < 768) -> mean, m2 {
    v0 = load x [i0, r0]
    yield v0
  }
  op add pointwise (i0 < s0, i1 < 768) -> x@1 {
    v0 = load x [i0, i1]
    v1 = load mean [i0, 0]
    v2 = sub v0 v1
    v3 = constant 1e-05 : f32
    v4 = add v2 v3
    v5 = constant nan : f32
    v6 = lt v4 v5
    v7 = where v6 v4 v5
    v8 = index_expr i0*2 + i1 : f32
    v9 = mul v7 v8
    v10 = cast v9 : bf16
    v11 = cast_kept v10 : f32
    v12 = load x [i0, -i1 + 767] if v6
    v13 = add v11 v12
    yield v13
  }
  op put scatter add (i0 < 5, i1 < 768) -> sc over x@1 at [t0, i1] {
    v0 = load idx [i0]
    v1 = check_index v0 < s0 "index out of range in self"
    v2 = indirect v1 as t0 < s0
    v3 = load x [t0, i1]
    v4 = constant 1 : bool
    yield v3
  }
  op running scan sum f32 along 1 (i0 < s0, i1 < 768) -> cum {
    v0 = load sc [i0, i1]
    yield v0
  }
  op arg reduction arg_max f32 (i0 < s0 ; r0 < 768) -> best {
    v0 = load sc [i0, r0]
    v1 = index_expr r0 : i64
    yield v0, v1
  }
  op mm extern aten.mm planned -> e (%x, %x{a0 < 768, a1 < s0 -> [a1, a0]} needs [1, 768])
  op item extern aten.item -> symbols u0 (%best{ -> [0]})
  mutates x x@1
  return %x@1, %sc{a0 < 768*s0 -> [a0//768, a0%768]}, (u0), 3, 1.5, true, none
)";

TEST(ProgramText, WhatIsPrintedReadsBackToTheSame) {
  auto program = parse_loop_program(kProgram);
  std::string once = to_text(*program);
  EXPECT_EQ(to_text(*parse_loop_program(once)), once);
  EXPECT_NE(once.find("op var reduction welford f32 (i0 < s0, i1 < 1 ; r0 < 768) -> mean, m2 {"), std::string::npos) << once;
  EXPECT_NE(once.find("op mm extern aten.mm planned -> e (%x, %x{a0 < 768, a1 < s0 -> [a1, a0]} needs [1, 768])"), std::string::npos)
      << once;
  EXPECT_NE(once.find("scatter add (i0 < 5, i1 < 768) -> sc over x@1 at [t0, i1]"), std::string::npos) << once;
}

void expect_refused(std::string_view text, std::string_view message) {
  try {
    parse_loop_program(text);
    FAIL() << "expected: " << message;
  } catch (const UserError& e) { EXPECT_NE(std::string_view(e.what()).find(message), std::string_view::npos) << e.what(); }
}

TEST(ProgramText, MistakesNameTheirLine) {
  expect_refused("program f\n  buffer x : f99[3]\n", "loop ir, line 2");
  expect_refused("program f\n  nonsense\n", "expected program, symbol");
  expect_refused("program f\n  buffer x : f32[2] input strides [1, 2]\n", "buffer x has 1 dimensions and 2 strides");
}

TEST(ProgramText, ListsInsideOneAnotherHaveALimit) {
  expect_refused("program f\n  return " + std::string(100000, '[') + "\n", "more than 64 lists inside one another");
}

/// A program, or an exception that says what is wrong.
void expect_no_crash(const std::string& text, int& parsed) {
  try {
    auto program = parse_loop_program(text);
    ++parsed;
    const std::string once = to_text(*program);
    EXPECT_EQ(to_text(*parse_loop_program(once)), once) << text;
  } catch (const UserError&) {
  } catch (const InternalError&) {  // from the verifier
  }
}

TEST(ProgramText, ChangedTextsAreProgramsOrErrors) {
  int parsed = 0;
  test::for_each_truncation(kProgram, [&](const std::string& text) { expect_no_crash(text, parsed); });
  std::mt19937 random(31);
  for (int round = 0; round < 2000; ++round) expect_no_crash(test::change_tokens(kProgram, random), parsed);
  EXPECT_GT(parsed, 50);
}

TEST(Verify, ALoadBeforeItsDefinitionIsRefused) {
  expect_refused(
      "program f\n  buffer y : f32[2] flexible\n  buffer z : f32[2] flexible\n  op a pointwise (i0 < 2) -> z {\n    v0 = load y [i0]\n    yield v0\n  }\n",
      "not defined yet");
}

TEST(Verify, AYieldOfAnotherTypeThanItsBufferIsRefused) {
  expect_refused(
      "program f\n  buffer x : f32[2] input strides [1]\n  buffer z : f64[2] flexible\n  op a pointwise (i0 < 2) -> z {\n    v0 = load x [i0]\n    yield v0\n  }\n",
      "yields f32 into buffer z of f64");
}

TEST(Verify, AnAxisOfAnotherExtentThanTheOutputIsRefused) {
  expect_refused(
      "program f\n  buffer x : f32[2] input strides [1]\n  buffer z : f32[3] flexible\n  op a pointwise (i0 < 2) -> z {\n    v0 = load x [i0]\n    yield v0\n  }\n",
      "extent 2, buffer z has size 3");
}

}  // namespace
}  // namespace litz
