#include <gtest/gtest.h>

#include "litz/loop/cost.h"
#include "litz/loop/dependences.h"
#include "litz/loop/simplify_indices.h"
#include "litz/loop/value_ranges.h"

namespace litz {
namespace {

constexpr std::string_view kGather = R"(program f
  buffer x : f32[10] input strides [1]
  buffer y : f32[4] flexible
  parameters %x
  op a pointwise (i0 < 4) -> y {
    v0 = index_expr i0*2 + 1 : i64
    v1 = check_index v0 < 10 "bad"
    v2 = indirect v1 as t0 < 10
    v3 = constant 9 : i64
    v4 = le v1 v3
    v5 = load x [t0] if v4
    v6 = exp v5
    v7 = constant 0 : f32
    v8 = where v4 v6 v7
    yield v8
  }
  return %y
)";

TEST(SimplifyIndices, ProvenChecksSelectsAndPredicatesGo) {
  auto program = parse_loop_program(kGather);
  EXPECT_TRUE(simplify_indices(*program));
  verify(*program);
  EXPECT_EQ(to_text(*program->operations[0]), R"(  op a pointwise (i0 < 4) -> y {
    v0 = load x [i0*2 + 1]
    v1 = exp v0
    yield v1
  }
)");
  EXPECT_FALSE(simplify_indices(*program));
}

TEST(ValueRanges, ComparisonsAreDecidedByBounds) {
  auto program = parse_loop_program(kGather);
  auto ranges = value_ranges(program->operations[0]->body);
  EXPECT_EQ(ranges[0].lower, 1);
  EXPECT_EQ(ranges[0].upper, 7);
  EXPECT_TRUE(ranges[4].is_single());
  EXPECT_FALSE(ranges[5].is_nan_free);
}

TEST(Dependences, ReadsAndWritesCarryCoordinates) {
  auto program = parse_loop_program(kGather);
  Dependences d = dependences(*program->operations[0]);
  ASSERT_EQ(d.reads.size(), 1u);
  EXPECT_TRUE(d.reads[0].is_indirect);
  EXPECT_TRUE(d.reads[0].is_predicated);
  ASSERT_EQ(d.writes.size(), 1u);
  EXPECT_EQ(d.writes[0].coordinates, program->operations[0]->axes);
}

TEST(Cost, HeavyOpsAreCountedApart) {
  auto program = parse_loop_program(kGather);
  BodyCost c = cost(program->operations[0]->body);
  EXPECT_EQ(c.loads, 1);
  EXPECT_EQ(c.indirect_loads, 1);
  EXPECT_EQ(c.heavy_ops, 2);
}

}  // namespace
}  // namespace litz
