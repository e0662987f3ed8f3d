// SizeVars: what is asserted, guarded, known and refused.
#include "litz/symbolic/size_vars.h"

#include <gtest/gtest.h>

#include "litz/support/check.h"

namespace litz {
namespace {

class SizeVarsTest : public testing::Test {
 protected:
  Expr parse(std::string_view text) { return parse_expr(context, text); }
  template <typename Error, typename Action>
  std::string message(Action action) {
    try {
      action();
    } catch (const Error& error) { return error.what(); }
    return "accepted";
  }

  ExprContext context;
  Expr s0 = context.symbol("s0", SymbolKind::kSize, {2, kIntInf}, 32);
  Expr s1 = context.symbol("s1", SymbolKind::kSize, {2, kIntInf}, 32);
  Expr s2 = context.symbol("s2", SymbolKind::kSize, {2, 64}, 8);
  Expr u0 = context.symbol("u0", SymbolKind::kUnbacked, {0, kIntInf});
  SizeVars sizes{context};
};

TEST_F(SizeVarsTest, ACheckBecomesOneAssertionAndThenAFact) {
  EXPECT_FALSE(sizes.statically_known_equals(s0, s1));
  sizes.check_equals(s0, s1, "batch sizes differ");
  sizes.check_equals(s1, s0, "batch sizes differ");
  ASSERT_EQ(sizes.assertions().size(), 1u);
  EXPECT_EQ(to_string(sizes.assertions()[0].condition), "s0 == s1");
  EXPECT_EQ(sizes.assertions()[0].message, "batch sizes differ");
  EXPECT_TRUE(sizes.statically_known_equals(s0, s1));
  EXPECT_TRUE(sizes.statically_known_leq(s0, s1 + 3));
  EXPECT_TRUE(sizes.guards().empty());
}

TEST_F(SizeVarsTest, WhatIsProvenNeedsNoAssertion) {
  sizes.check_lt(parse("1"), s0);
  sizes.check_leq(parse("0"), u0);
  sizes.check(parse("s0*4 % 2 == 0"));
  EXPECT_TRUE(sizes.assertions().empty());
}

TEST_F(SizeVarsTest, WhatIsProvenFalseIsTheUsersError) {
  EXPECT_EQ(message<UserError>([&] { sizes.check_equals(s2, parse("65"), "too long"); }), "a size check cannot hold: too long");
  EXPECT_FALSE(sizes.expect_true(parse("s0 < 2")));
  EXPECT_TRUE(sizes.assertions().empty());
}

TEST_F(SizeVarsTest, ExpectTrueIsAssumedAndAssertedLater) {
  EXPECT_TRUE(sizes.expect_true(parse("u0 < s0")));
  EXPECT_TRUE(sizes.statically_known_lt(u0, s0));
  EXPECT_TRUE(sizes.statically_known_leq(u0, s0 + 1));
  EXPECT_FALSE(sizes.statically_known_lt(u0 + 1, s0));
  EXPECT_FALSE(sizes.statically_known_true(parse("u0 >= s0")));
  EXPECT_EQ(sizes.assertions().size(), 1u);
}

TEST_F(SizeVarsTest, QuestionsLeaveNoTrace) {
  EXPECT_FALSE(sizes.guard_or_false(parse("s0 == 32")));
  EXPECT_FALSE(sizes.statically_known_multiple_of(s0, parse("8")));
  EXPECT_TRUE(sizes.statically_known_multiple_of(s0 * s1 * 8, parse("s1*4")));
  EXPECT_TRUE(sizes.statically_known_multiple_of(parse("(s0 // 8)*8"), parse("8")));
  EXPECT_FALSE(sizes.statically_known_multiple_of(s0, parse("0")));
  EXPECT_EQ(sizes.optimization_hint(s0 * s1, 7), 1024);
  EXPECT_EQ(sizes.optimization_hint(u0 * 2, 8192), 16384);
  EXPECT_EQ(sizes.optimization_hint(parse("5 // u0"), 0), 0);
  EXPECT_TRUE(sizes.guards().empty());
  EXPECT_TRUE(sizes.assertions().empty());
}

TEST_F(SizeVarsTest, AGuardingHintBinds) {
  EXPECT_EQ(sizes.guarding_hint(s0 * 2, "unrolling"), 64);
  EXPECT_EQ(sizes.guarding_hint(s0, "unrolling"), 32);  // known by then
  ASSERT_EQ(sizes.guards().size(), 1u);
  EXPECT_EQ(to_string(sizes.guards()[0].condition), "s0 == 32");
  EXPECT_EQ(sizes.guarding_hint(parse("s2 < 9"), "small"), 1);
  EXPECT_EQ(to_string(sizes.guards()[1].condition), "s2 < 9");
  EXPECT_EQ(sizes.take_new_guards().size(), 2u);
  EXPECT_EQ(sizes.take_new_guards().size(), 0u);
  EXPECT_EQ(sizes.guarding_hint(parse("7"), ""), 7);
  EXPECT_EQ(message<UserError>([&] { sizes.guarding_hint(u0, "the grid"); }),
            "the compiler needs the value of u0, which is known only when the graph runs, for the grid; mark the size "
            "as static or check it");
}

TEST_F(SizeVarsTest, NoGuardIsAddedOnceTheyAreFrozen) {
  sizes.guarding_hint(s0);
  sizes.freeze_guards();
  EXPECT_EQ(sizes.guarding_hint(s0), 32);
  EXPECT_NE(message<InternalError>([&] {
              sizes.guarding_hint(s1, "tiling");
            }).find("guard s1 == 32 is added after guards were frozen, for tiling"),
            std::string::npos);
  sizes.check_equals(s1, s2);
  EXPECT_EQ(sizes.assertions().size(), 1u);
}

TEST_F(SizeVarsTest, ReplacementsAndAssumptionsOfTheImport) {
  sizes.replace(s1, s0);
  EXPECT_EQ(sizes.simplify(parse("s0*s1 - s0*s0")), parse("0"));
  EXPECT_TRUE(sizes.statically_known_equals(s0, s1));
  sizes.replace(s0, s2 * 2);
  EXPECT_EQ(sizes.simplify(s1), s2 * 2);
  EXPECT_TRUE(sizes.statically_known_leq(s1, parse("128")));
  sizes.assume(parse("u0 <= s2 and u0 != 3"));
  EXPECT_TRUE(sizes.statically_known_leq(u0, s2));
  EXPECT_TRUE(sizes.statically_known_true(parse("u0 != 3")));
  EXPECT_FALSE(sizes.statically_known_true(parse("u0 == 3")));
  EXPECT_NE(message<InternalError>([&] { sizes.replace(s2, s2 + 1); }).find("which contains it"), std::string::npos);
}

}  // namespace
}  // namespace litz
