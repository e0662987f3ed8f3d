#include <gtest/gtest.h>

#include "litz/runtime/extern_call.h"

namespace litz::runtime {
namespace {

using Texts = std::vector<std::string>;

TEST(SchemaTypes, AreReadFromTheTextOfASchema) {
  const SchemaTypes types = schema_types(
      "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[2] padding, *, bool transposed=False, float? scale=None) -> Tensor");
  EXPECT_EQ(types.arguments, (Texts{"Tensor", "Tensor", "Tensor?", "int[]", "int[]", "bool", "float?"}));
  EXPECT_EQ(types.returns, Texts{"Tensor"});
}

TEST(SchemaTypes, LeaveOutAliasesAndKnowSeveralResults) {
  const SchemaTypes types = schema_types(
      "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!)[] more) -> (Tensor(a!) values, Tensor(b!)[] rest)");
  EXPECT_EQ(types.arguments, (Texts{"Tensor", "int", "bool", "Tensor", "Tensor[]"}));
  EXPECT_EQ(types.returns, (Texts{"Tensor", "Tensor[]"}));
}

TEST(SchemaTypes, MayBeNone) {
  const SchemaTypes types = schema_types("aten::_assert_async(Tensor self) -> ()");
  EXPECT_EQ(types.arguments, Texts{"Tensor"});
  EXPECT_TRUE(types.returns.empty());
  EXPECT_TRUE(schema_types("litz_python::f_1() -> Tensor").arguments.empty());
}

TEST(SchemaTypes, DefaultsWithCommasAreOneArgument) {
  EXPECT_EQ(schema_types("aten::f(int[2] stride=[1, 1], int a=0) -> Tensor").arguments, (Texts{"int[]", "int"}));
}

}  // namespace
}  // namespace litz::runtime
