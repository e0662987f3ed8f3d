#include "litz/graph/builder.h"

#include <gtest/gtest.h>

#include "litz/graph/alias.h"
#include "litz/graph/ops.h"
#include "litz/graph/shape_rules.h"
#include "litz/support/check.h"

namespace litz {
namespace {

struct Built : testing::Test {
  Graph graph{"g"};
  GraphBuilder b{graph, graph.nodes};
  Expr s0 = graph.context->symbol("s0", SymbolKind::kSize, {2, kIntInf}, 8);
  Expr s1 = graph.context->symbol("s1", SymbolKind::kSize, {0, kIntInf}, 4);

  Expr n(int64_t v) { return graph.context->integer(v); }
  Value input(std::vector<Expr> sizes, DType dtype = DType::kFloat32) {
    Node* node = graph.new_node(NodeKind::kInput, "x");
    TensorMeta m;
    m.dtype = dtype;
    m.strides = contiguous_strides(*graph.context, sizes);
    m.sizes = std::move(sizes);
    node->outputs.push_back(m);
    graph.inputs.push_back(node);
    return node->value();
  }
  std::string meta(Value v) { return to_text(v.meta()); }
};

TEST_F(Built, SymbolicSizesBroadcastAgainstOne) {
  const Value a = input({s0, n(1), n(3)}), c = input({n(4), n(3)});
  EXPECT_EQ(meta(b.add(a, c)), "f32[s0, 4, 3]");
}

TEST_F(Built, ASizeThatCannotBeOneDecides) {
  const Value a = input({s0}), c = input({s1});
  EXPECT_EQ(meta(b.mul(c, a)), "f32[s0]");
}

TEST_F(Built, SizesThatNothingDecidesAreRefused) {
  const Expr s2 = graph.context->symbol("s2", SymbolKind::kSize, {0, kIntInf}, 4);
  const Value a = input({s1}), c = input({s2});
  EXPECT_THROW(b.add(a, c), UserError);
}

TEST_F(Built, SizesThatDifferAreRefused) {
  const Value a = input({n(3)}), c = input({n(4)});
  try {
    b.add(a, c);
    FAIL();
  } catch (const UserError& e) { EXPECT_STREQ(e.what(), "sizes 3 and 4 do not broadcast: expected equal sizes or 1"); }
}

TEST_F(Built, ViewsOfSymbolicTensorsKeepTheirStrides) {
  const Value x = input({s0, n(6), n(4)});
  const Value p = b.permute(x, std::vector<int64_t>{1, 0, 2});
  EXPECT_EQ(meta(p), "f32[6, s0, 4] strides [4, 24, 1]");
  const Expr joined[] = {s0, n(24)};
  EXPECT_EQ(meta(b.reshape(x, joined)), "f32[s0, 24]");
  EXPECT_EQ(meta(b.slice(x, 1, n(2), n(4))), "f32[s0, 2, 4] strides [24, 4, 1] offset [8]");
  EXPECT_EQ(meta(b.select(x, -1, int64_t{-1})), "f32[s0, 6] strides [24, 4] offset [3]");
  EXPECT_EQ(meta(b.call("aten.reshape", {p, ArgumentList{int64_t{6}, int64_t{-1}}})), "f32[6, s0*4]");
}

TEST_F(Built, SlicesOfUnknownLengthAreClamped) {
  const Value x = input({s0});
  EXPECT_EQ(meta(b.slice(x, 0, n(0), n(kIntInf))), "f32[s0]");
  EXPECT_EQ(meta(b.slice(x, 0, n(1), n(-1))), "f32[s0 - 2] offset [1]");
}

TEST_F(Built, AbsentArgumentsTakeTheirDefaults) {
  const Value x = input({n(4)});
  const Node& node = *b.add(x, int64_t{1}).node;
  EXPECT_EQ(node.argument("alpha").as<int64_t>(), 1);
  EXPECT_FALSE(node.is_imported);
  EXPECT_THROW(b.call("aten.not_a_primitive", {x}), InternalError);
}

TEST_F(Built, ConvolutionAndPoolsFollowEagersFormula) {
  const Value x = input({s0, n(3), n(32), n(31)}), w = input({n(8), n(3), n(3), n(3)});
  const auto two = GraphBuilder::int_list({2, 2}), one = GraphBuilder::int_list({1, 1}), zero = GraphBuilder::int_list({0, 0});
  EXPECT_EQ(meta(b.call("aten.convolution", {x, w, None{}, two, one, one, false, zero, int64_t{1}})), "f32[s0, 8, 16, 16]");
  EXPECT_EQ(meta(b.call("aten.max_pool2d_with_indices", {x, GraphBuilder::int_list({3, 3}), two, one, one, true})), "f32[s0, 3, 17, 16]");
}

TEST(Primitives, EveryRowHasASchemaThatParses) {
  EXPECT_GT(primitives().size(), 130u);
  for (const Primitive& p : primitives()) EXPECT_EQ(parse_schema(p.schema)->name, p.name);
}

TEST(Alias, ViewsShareAndWritesAreSeen) {
  auto g = parse_graph(R"(graph g
schema aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)
schema aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
schema aten::exp(Tensor self) -> Tensor
schema aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
input %x : f32[2, 2]
input %y : f32[2]
%v = aten.view(%x, [4]) -> f32[4]
%u, %u.1 = aten.unbind.int(%x) -> f32[2], f32[2] offset [2]
%e = aten.exp(%x) -> f32[2, 2]
%w = aten.copy_(%u.1, %y) -> f32[2] offset [2]
return %v, %e
)");
  const AliasInfo alias(*g);
  const Value x = g->inputs[0]->value(), y = g->inputs[1]->value();
  Node *v = g->nodes[0], *u = g->nodes[1], *e = g->nodes[2], *w = g->nodes[3];
  EXPECT_TRUE(alias.may_share(v->value(), u->value(1)));
  EXPECT_EQ(alias.root(w->value()), x);
  EXPECT_FALSE(alias.may_share(e->value(), x));
  EXPECT_TRUE(alias.is_written(v->value()));
  EXPECT_FALSE(alias.is_written(y) || alias.is_written(e->value()));
  EXPECT_TRUE(alias.is_written_from(x, 3));
  EXPECT_FALSE(alias.is_written_from(x, 4));
  EXPECT_TRUE(alias.is_returned(x));
  EXPECT_FALSE(alias.is_returned(y));
}

}  // namespace
}  // namespace litz
