#include <gtest/gtest.h>

#include <cmath>

#include "litz/loop/program.h"

namespace litz {
namespace {

struct BodyBuilderTest : testing::Test {
  std::shared_ptr<ExprContext> context = std::make_shared<ExprContext>();
  LoopProgram program{context};
  Buffer* x = program.new_buffer("x", DType::kFloat32, {context->integer(4)}, {});
  Buffer* index = program.new_buffer("index", DType::kInt64, {context->integer(4)}, {});
  BodyBuilder b{*context};
  Expr i0 = context->axis("i0", context->integer(4));
};

TEST_F(BodyBuilderTest, EqualInstructionsAreRecordedOnce) {
  ValueId v = b.load(x, {i0});
  EXPECT_EQ(b.exp(v), b.exp(b.load(x, {i0})));
  EXPECT_NE(b.add(v, b.exp(v)), b.add(b.exp(v), v));
}

TEST_F(BodyBuilderTest, AddingZeroToAFloatIsKept) {
  ValueId v = b.load(x, {i0});
  EXPECT_NE(b.add(v, b.constant(DType::kFloat32, 0.0)), v);  // -0.0 + 0.0 is 0.0
  EXPECT_NE(b.sub(v, v), b.constant(DType::kFloat32, 0.0));  // inf - inf
  EXPECT_NE(b.mul(v, b.constant(DType::kFloat32, 0.0)), b.constant(DType::kFloat32, 0.0));
  EXPECT_EQ(b.mul(v, b.constant(DType::kFloat32, 1.0)), v);
}

TEST_F(BodyBuilderTest, ConstantsFoldAsTheTypeComputes) {
  ValueId big = b.constant(DType::kInt8, Number::of(int64_t{127}));
  ValueId sum = b.add(big, b.constant(DType::kInt8, Number::of(int64_t{1})));
  ValueId half = b.add(b.constant(DType::kBFloat16, 256.0), b.constant(DType::kBFloat16, 1.0));
  b.yield(sum);
  b.yield(half);
  Body body = b.take();
  EXPECT_EQ(body.instrs[body.yields[0]].number, Number::of(int64_t{-128}));
  EXPECT_EQ(body.instrs[body.yields[1]].number, Number::of(256.0));
}

TEST_F(BodyBuilderTest, ACastOfTheImportedGraphStaysEvenToTheSameType) {
  ValueId v = b.load(x, {i0});
  EXPECT_EQ(b.cast(v, DType::kFloat32), v);
  EXPECT_NE(b.cast(v, DType::kFloat32, true), v);
}

TEST_F(BodyBuilderTest, TakeDropsWhatNobodyUsesButKeepsChecks) {
  ValueId v = b.load(x, {i0});
  b.exp(v);
  ValueId i = b.load(index, {i0});
  ValueId checked = b.check_index(i, context->integer(4));
  Expr t = b.indirect(checked, context->integer(4));
  ValueId gathered = b.load(x, {t});
  b.check_index(i, context->integer(9));
  b.yield(gathered);
  Body body = b.take();
  int checks = 0, exps = 0, indirects = 0;
  for (const Instr& instr : body.instrs) {
    checks += instr.op == Op::kCheckIndex;
    exps += instr.op == Op::kExp;
    indirects += instr.op == Op::kIndirect;
  }
  EXPECT_EQ(checks, 2);
  EXPECT_EQ(exps, 0);
  EXPECT_EQ(indirects, 1);
}

TEST_F(BodyBuilderTest, AnIndexThatIsProvenInRangeNeedsNoCheck) {
  ValueId v = b.index_expr(i0);
  EXPECT_EQ(b.check_index(v, context->integer(4)), v);
  EXPECT_NE(b.check_index(v, context->integer(3)), v);
  EXPECT_EQ(b.indirect(v, context->integer(4)), i0);
  ValueId last = b.check_index(b.constant(DType::kInt64, Number::of(int64_t{-1})), context->integer(4));
  EXPECT_EQ(b.indirect(last, context->integer(4)), context->integer(3));
}

TEST_F(BodyBuilderTest, OperandsOfTwoTypesAreRefused) {
  EXPECT_THROW(b.add(b.load(x, {i0}), b.constant(DType::kFloat64, 1.0)), InternalError);
}

}  // namespace
}  // namespace litz
