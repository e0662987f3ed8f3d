// Wrapper programs as text: what is printed reads back to the same program, and what is none is refused with line and column.
#include <gtest/gtest.h>

#include "litz/wrapper/emit_executor.h"
#include "litz/wrapper/plan_memory.h"
#include "litz/wrapper/wrapper.h"
#include "text_changes.h"

namespace litz {
namespace {

constexpr std::string_view kWrapper = R"text(wrapper main
  symbol s0 size in [2, inf] hint 32
  symbol u0 unbacked in [0, 100]
  symbol u1 unbacked in [0, inf]
  schema "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)"
  schema random "t::mix(Tensor? a, Scalar[] b, str c, ScalarType? d, Device e, MemoryFormat f, SymInt g) -> (Tensor, Tensor)"
  schema "aten::item(Tensor self) -> Scalar"
  kernel fused_0 reports_errors "must hold" "and \"this\""
  kernel fused_1
  input number s0
  input %x_0 : f32 [s0, 768] strides [768, 1] offset s0 - 1 cpu:0
  constant %w_1 : bf16 [768, 30] strides [1, 768] gpu:1
  # what a reader sees
  alloc %a_2 : f32 [s0, 768] strides [768, 1] cpu:0
  call fused_0(%x_0, %a_2; [s0]) range (s0 + 15) // 16 grain max(1, 64 // s0) scratch 64
  alloc %b_3 : f32 [s0, 30] strides [30, 1] cpu:0
  extern _ = aten.mm.out(%a_2, %w_1, %b_3) in f32
  extern %r_4 : f32 [u1] strides [1] cpu:0, _ = t.mix(none, [1, 2.0, true, complex(0.0, -1.5), (s0 + 1)], "a\"b", dtype bf16, device gpu 1, format channels_last, (s0))
  extern u0 = aten.item(%r_4)
  number u1 = size(%r_4, 0)
  view %a_view_5 : f32 [s0*768] strides [1] offset 3 cpu:0 of %a_2
  assert s0 >= 2 "size must be \"at least\" 2"
  call fused_1(%b_3; []) range 1 grain 1
  copy %x_0 <- %b_3
  alloc %c_6 : f32 [s0] strides [1] cpu:0 escapes
  free %a_2
  free %b_3
  return %c_6, input 1, none, (s0*2), 3, 1.0, true, %a_view_5
)text";

std::string error_of(std::string_view text) {
  try {
    parse_wrapper(text);
  } catch (const UserError& e) { return e.what(); }
  return "no error";
}

std::string with(std::string_view from, std::string_view to) {
  std::string text(kWrapper);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(WrapperText, WhatIsPrintedReadsBackToTheSame) {
  auto program = parse_wrapper(kWrapper);
  // Comparisons have one form: s0 >= 2 is 2 <= s0, which the range of s0 decides.
  const std::string once = to_text(*program);
  EXPECT_EQ(once, with("assert s0 >= 2", "assert 1"));
  EXPECT_EQ(to_text(*parse_wrapper(once)), once);
  EXPECT_EQ(program->kernels.at(0).messages, (std::vector<std::string>{"must hold", "and \"this\""}));
  EXPECT_TRUE(program->schemas.at(1)->is_random);
  EXPECT_TRUE(std::holds_alternative<int64_t>(program->outputs.at(4).value));
  EXPECT_TRUE(std::holds_alternative<double>(program->outputs.at(5).value));
}

TEST(WrapperText, WhatIsReadIsPlannedAndRunsTheSame) {
  auto program = parse_wrapper(kWrapper);
  EXPECT_TRUE(plan_memory(*program, 64));
  verify(*program);
  const std::string planned = to_text(*program);
  EXPECT_NE(planned.find("  arena 0 bytes"), std::string::npos) << planned;
  EXPECT_NE(planned.find("  place %b_3 : f32 [s0, 30] strides [30, 1] cpu:0 in arena 0 at "), std::string::npos) << planned;
  auto again = parse_wrapper(planned);
  EXPECT_EQ(to_text(*again), planned);
  EXPECT_EQ(runtime::to_text(emit_executor(*again)), runtime::to_text(emit_executor(*program)));
}

TEST(WrapperText, MistakesAreNamedWithLineAndColumn) {
  struct Case {
    std::string text, message;
  };
  const Case cases[] = {
      {"", "wrapper ir: expected a line \"wrapper name\", found no line"},
      {"wrapper\n", "wrapper ir, line 1, column 8: expected a name, found the end of the line"},
      {"wrapper main\n", "wrapper ir, line 1: expected a line \"return ...\" at the end"},
      {with("symbol u0", "symbol s0"), "wrapper ir, line 3, column 12: symbol s0 stands twice"},
      {with("\"aten::item(Tensor self) -> Scalar\"", "\"aten::item\""), "wrapper ir, line 7, column 22:"},
      {with("kernel fused_1", "kernel fused_0"), "wrapper ir, line 9, column 17: kernel fused_0 stands twice"},
      {with("constant %w_1", "constant %w"),
       "wrapper ir, line 12, column 12: expected a tensor: %name_number, found \"%w : bf16 [768, 30] \""},
      {with("constant %w_1", "constant %w_0"), "tensor number 0 is made twice"},
      {with("bf16 [768, 30]", "bf15 [768, 30]"), "wrapper ir, line 12, column 19: expected an element type"},
      {with("strides [1, 768]", "strides [1]"), "1 strides for 2 sizes"},
      {with("gpu:1", "gpu 1"), "expected :, found \"1\""},
      {with("call fused_0", "call fused_2"), "wrapper ir, line 15, column 8: expected a kernel with a line above"},
      {with("%x_0, %a_2; [s0]", "%x_0, %b_3; [s0]"),
       "wrapper ir, line 15, column 22: expected a tensor that a line above makes, found \"%b_3; [s0]) range (s\""},
      {with("range (s0 + 15)", "range (s9 + 15)"), "wrapper ir, line 15, column 41: no symbol 's9'"},
      {with("(%a_2, %w_1, %b_3)", "(%a_2, %w_1)"), "aten.mm.out takes 3 arguments, given 2"},
      {with("= aten.mm.out(", "= aten.mm("), "wrapper ir, line 17, column 14: expected an op with a schema line above"},
      {with("format channels_last", "format channels_first"), "expected contiguous, preserve, channels_last or channels_last_3d"},
      {with("extern u0", "extern u9"),
       "wrapper ir, line 19, column 10: expected a symbol with a line above, found \"u9 = aten.item(%r_4)\""},
      {with("size(%r_4, 0)", "size(%r_4, 1)"), "dimension 1 of a tensor of rank 1"},
      {with("size(%r_4, 0)", "length(%r_4, 0)"), "expected size, stride or storage_offset"},
      {with("alloc %c_6", "place %c_6"), "wrapper ir, line 25, column 43: expected in, found \"escapes\""},
      {with("%a_view_5 : f32", "%a_view_7 : f32"), "expected a tensor that a line above makes, found \"%a_view_5\""},
      {with("free %b_3", "free %a_2"), "wrapper ir, line 27, column 8: %a_2 is freed above"},
      {with("input 1", "input 2"), "input 2 of 2"},
      {with("(s0*2), 3", "(s0*2), \"3\""), "expected a tensor, an input or a number before here"},
      {with("true, %a_view_5\n", "true, %a_view_5\n  free %c_6\n"), "wrapper ir, line 29, column 3: expected nothing behind return"},
      {with("  # what", "  what"),
       "wrapper ir, line 13, column 3: expected symbol, schema, kernel, input, constant, return, comment, alloc"},
  };
  for (const Case& c : cases)
    EXPECT_NE(error_of(c.text).find(c.message), std::string::npos) << error_of(c.text) << "\nexpected: " << c.message;
}

void expect_no_crash(const std::string& text, int& parsed) {
  std::unique_ptr<WrapperProgram> program;
  try {
    program = parse_wrapper(text);
  } catch (const UserError&) { return; } catch (const std::exception& e) {
    ADD_FAILURE() << e.what() << "\n" << text;
    return;
  }
  ++parsed;
  const std::string once = to_text(*program);
  EXPECT_EQ(to_text(*parse_wrapper(once)), once) << text;
  try {
    (void)emit_executor(*program);
    plan_memory(*program, 64);
    verify(*program);
  } catch (const UserError&) {
  } catch (const InternalError&) {  // numbers that no line gives: found, not run wrong
  }
}

TEST(WrapperText, TextsThatEndEarlyAreProgramsOrUserErrors) {
  int parsed = 0;
  test::for_each_truncation(kWrapper, [&](const std::string& text) { expect_no_crash(text, parsed); });
  EXPECT_GT(parsed, 10);
}

TEST(WrapperText, ChangedTextsAreProgramsOrUserErrors) {
  std::mt19937 random(29);
  int parsed = 0;
  for (int round = 0; round < 2000; ++round) {
    expect_no_crash(test::change_tokens(kWrapper, random), parsed);
    if (HasFailure()) return;
  }
  EXPECT_GT(parsed, 50);
}

}  // namespace
}  // namespace litz
