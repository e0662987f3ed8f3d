// Properties of random expressions: simplifying keeps the value, text and bytecode say the same, canonical forms are
// stable.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>

#include "litz/symbolic/bytecode.h"
#include "litz/symbolic/expr.h"
#include "random_expr.h"

namespace litz::testing_support {
namespace {

// Before RapidCheck reads it; a user's own setting wins.
const int configured = setenv("RC_PARAMS", "max_success=3000 max_size=40", 0);

using Program = std::vector<int>;

Style style() { return *rc::gen::element(Style::kAny, Style::kIndex); }

rc::Gen<Program> programs() { return rc::gen::container<Program>(rc::gen::inRange(0, 100 * 1000)); }

TEST(RandomExpressions, KeepTheirValue) {
  ASSERT_EQ(configured, 0);
  EXPECT_TRUE(rc::check("a simplified expression has the value of the one written", [] {
    Universe universe;
    Program program = *programs();
    RandomExpr random_expr(universe, program, style());
    std::mt19937 random(1);
    for (int i = 0; i < 30; ++i) {
      Universe::Point point = universe.random_point(random);
      std::optional<int64_t> wanted = random_expr.reference(point);
      if (!wanted) continue;
      std::optional<int64_t> got = evaluate(random_expr.expr, point);
      if (got != wanted)
        RC_LOG() << random_expr.text() << "\nbecame " << to_string(random_expr.expr) << "\n"
                 << [&] {
                      std::string values;
                      for (size_t k = 0; k < point.values.size(); ++k)
                        values += std::string(universe.symbols[k].symbol_name()) + "=" + std::to_string(point.values[k]) + " ";
                      return values;
                    }();
      RC_ASSERT(got == wanted);
      ValueRange range = random_expr.expr.range();
      RC_ASSERT(*got >= range.lower);
      RC_ASSERT(*got <= range.upper);
    }
  }));
}

TEST(RandomExpressions, BoundsHold) {
  EXPECT_TRUE(rc::check("lower_bound <= value <= upper_bound", [] {
    Universe universe;
    RandomExpr random_expr(universe, *programs(), style());
    std::optional<Expr> lower = lower_bound(random_expr.expr), upper = upper_bound(random_expr.expr);
    bool nonnegative = provably_nonnegative(random_expr.expr);
    std::mt19937 random(2);
    for (int i = 0; i < 30; ++i) {
      Universe::Point point = universe.random_point(random);
      std::optional<int64_t> value = random_expr.reference(point);
      if (!value) continue;
      if (lower)
        if (auto bound = evaluate(*lower, point)) RC_ASSERT(*bound <= *value);
      if (upper)
        if (auto bound = evaluate(*upper, point)) RC_ASSERT(*value <= *bound);
      if (nonnegative) RC_ASSERT(*value >= 0);
    }
  }));
}

TEST(RandomExpressions, ParseWhatTheyPrint) {
  EXPECT_TRUE(rc::check("parse(print(x)) is x", [] {
    Universe universe;
    RandomExpr random_expr(universe, *programs(), style());
    std::string text = to_string(random_expr.expr);
    Expr again = parse_expr(universe.context, text);
    if (again != random_expr.expr) RC_LOG() << text << "\nparsed as " << to_string(again);
    RC_ASSERT(again == random_expr.expr);
  }));
}

TEST(RandomExpressions, AreTheSameInAFreshContext) {
  EXPECT_TRUE(rc::check("print(parse in a fresh context(print(x))) is print(x)", [] {
    Universe universe, fresh;
    RandomExpr random_expr(universe, *programs(), style());
    std::string text = to_string(random_expr.expr);
    RC_ASSERT(to_string(parse_expr(fresh.context, text)) == text);
  }));
}

TEST(RandomExpressions, RebuildToThemselves) {
  EXPECT_TRUE(rc::check("renaming the symbols and back gives x", [] {
    Universe universe;
    RandomExpr random_expr(universe, *programs(), style());
    Substitution there, back;
    for (Expr symbol : universe.symbols) {
      if (symbol.extent()) continue;
      Expr other = universe.context.symbol(std::string(symbol.symbol_name()) + "_", symbol.symbol_kind(), symbol.range());
      there.push_back({symbol, other});
      back.push_back({other, symbol});
    }
    Expr renamed = substitute(random_expr.expr, there);
    std::mt19937 random(3);
    Expr returned = substitute(renamed, back);
    for (int i = 0; i < 10; ++i) {
      Universe::Point point = universe.random_point(random);
      if (std::optional<int64_t> wanted = random_expr.reference(point)) RC_ASSERT(evaluate(returned, point) == wanted);
    }
  }));
}

TEST(RandomExpressions, BytecodeGivesTheValue) {
  EXPECT_TRUE(rc::check("a compiled program computes what evaluate computes", [] {
    Universe universe;
    std::vector<Expr> outputs;
    std::vector<RandomExpr> sources;
    for (int i = 0; i < 3; ++i) {
      sources.emplace_back(universe, *programs(), style());
      outputs.push_back(sources.back().expr);
    }
    ExprProgram program = compile_exprs(outputs, universe.symbols);
    std::mt19937 random(4);
    for (int i = 0; i < 10; ++i) {
      Universe::Point point = universe.random_point(random);
      int64_t out[3] = {-77, -77, -77}, checked[3];
      initialise(program, out);
      const bool all_fit = evaluate(program, point.values.data(), out);
      std::vector<std::optional<int64_t>> wanted;
      for (const RandomExpr& source : sources) wanted.push_back(source.reference(point));
      for (int k = 0; k < 3; ++k)
        if (wanted[k]) RC_ASSERT(out[k] == *wanted[k]);
      initialise(program, checked);
      if (wanted[0] && wanted[1] && wanted[2]) RC_ASSERT(all_fit);
      if (evaluate_checked(program, point.values.data(), checked))
        for (int k = 0; k < 3; ++k) RC_ASSERT(out[k] == checked[k]);
      else RC_ASSERT(!(evaluate(outputs[0], point) && evaluate(outputs[1], point) && evaluate(outputs[2], point)));
    }
  }));
}

}  // namespace
}  // namespace litz::testing_support
