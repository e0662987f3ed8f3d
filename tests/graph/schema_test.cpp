#include "litz/graph/schema.h"

#include <gtest/gtest.h>

#include "litz/graph/argument.h"
#include "litz/support/check.h"

namespace litz {
namespace {

TEST(Schema, ReadsTypesDefaultsAndKeywordOnlyArguments) {
  auto s = parse_schema("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  EXPECT_EQ(s->name, "aten.add.Tensor");
  ASSERT_EQ(s->arguments.size(), 3u);
  EXPECT_EQ(s->arguments[2].name, "alpha");
  EXPECT_EQ(s->arguments[2].type, ArgType::kScalar);
  EXPECT_TRUE(s->arguments[2].is_kwarg_only);
  EXPECT_FALSE(s->arguments[1].is_kwarg_only);
  EXPECT_TRUE(same_argument(*default_argument(s->arguments[2]), Argument(int64_t{1})));
  EXPECT_FALSE(s->is_mutating || s->is_view || s->is_random || s->has_effect);
}

TEST(Schema, ReadsAliasAnnotations) {
  auto view = parse_schema("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]");
  EXPECT_TRUE(view->is_view);
  EXPECT_TRUE(view->returns[0].is_list);
  EXPECT_EQ(view->arguments[0].alias_set, "a");
  auto in_place = parse_schema("aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)");
  EXPECT_TRUE(in_place->is_mutating);
  EXPECT_FALSE(in_place->is_view);
  EXPECT_TRUE(in_place->returns[0].is_written);
  auto foreach = parse_schema("aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()");
  EXPECT_TRUE(foreach->is_mutating);
  EXPECT_TRUE(foreach->arguments[0].is_list);
  EXPECT_FALSE(foreach->has_effect);
  EXPECT_TRUE(foreach->returns.empty());
}

TEST(Schema, ReadsListsAndOptionals) {
  auto s = parse_schema(
      "aten::f(Tensor?[] indices, SymInt[2]? size=None, int[1] stride=1, float[]? scale=None, *, ScalarType? dtype=None, "
      "str mode=\"a, b)\", Generator? generator=None, float eps=1.0000000000000001e-05) -> (Tensor a, Tensor(b!) b, int)");
  EXPECT_TRUE(s->arguments[0].is_list && s->arguments[0].has_optional_elements && !s->arguments[0].is_optional);
  EXPECT_TRUE(s->arguments[1].is_list && s->arguments[1].is_optional && !s->arguments[1].has_optional_elements);
  EXPECT_EQ(s->arguments[1].list_size, 2);
  EXPECT_TRUE(same_argument(*default_argument(s->arguments[2]), Argument(ArgumentList{int64_t{1}})));
  EXPECT_EQ(default_argument(s->arguments[5])->as<std::string>(), "a, b)");
  EXPECT_EQ(default_argument(s->arguments[7])->as<double>(), 1e-5);
  EXPECT_TRUE(s->is_random);
  EXPECT_EQ(s->returns.size(), 3u);
  EXPECT_EQ(s->returns[2].type, ArgType::kInt);
}

TEST(Schema, KnowsEffectsAndRandomOps) {
  EXPECT_TRUE(parse_schema("aten::_assert_scalar(Scalar self, str assert_msg) -> ()")->has_effect);
  EXPECT_TRUE(parse_schema("aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)")->is_random);
}

TEST(Schema, NamesAreCanonical) {
  EXPECT_EQ(canonical_op_name("aten::add.Tensor"), "aten.add.Tensor");
  EXPECT_EQ(canonical_op_name("aten.relu.default"), "aten.relu");
  EXPECT_EQ(canonical_op_name("aten::relu"), "aten.relu");
}

TEST(Schema, RefusesWhatIsNoSchema) {
  EXPECT_THROW(parse_schema("aten::add(Tensor self"), UserError);
  EXPECT_THROW(parse_schema("aten::add(Tensor self)"), UserError);
  EXPECT_THROW(parse_schema(""), UserError);
  try {
    parse_schema("aten::add(Tensor self; Tensor b) -> Tensor");
    FAIL();
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(), "schema \"aten::add(Tensor self; Tensor b) -> Tensor\": expected ',' or ')' at column 22");
  }
}

}  // namespace
}  // namespace litz
