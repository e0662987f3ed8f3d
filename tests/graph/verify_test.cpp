#include <gtest/gtest.h>

#include "litz/graph/graph.h"
#include "litz/support/check.h"

namespace litz {
namespace {

std::unique_ptr<Graph> small() {
  return parse_graph(R"(graph g
schema aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
symbol s0 in [2, inf] hint 4
input %x : f32[s0]
%y = aten.add.Tensor(%x, %x) -> f32[s0]
%z = aten.add.Tensor(%y, %x) -> f32[s0]
return %z
)");
}

void expect_refused(const Graph& g, const std::string& part) {
  try {
    verify(g);
    FAIL() << "expected a refusal: " << part;
  } catch (const InternalError& e) { EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what(); }
}

TEST(Verify, TakesAGoodGraph) { verify(*small()); }

TEST(Verify, RefusesAUseBeforeTheDefinition) {
  auto g = small();
  std::swap(g->nodes[0], g->nodes[1]);
  expect_refused(*g, "%y is used before its definition");
}

TEST(Verify, RefusesAnArgumentOfTheWrongType) {
  auto g = small();
  g->nodes[0]->arguments[1] = std::string("x");
  expect_refused(*g, "argument 'other' is \"x\", expected Tensor");
}

TEST(Verify, RefusesAMissingArgument) {
  auto g = small();
  g->nodes[0]->arguments.pop_back();
  expect_refused(*g, "2 arguments, expected 3");
}

TEST(Verify, RefusesAMissingResult) {
  auto g = small();
  g->nodes[0]->outputs.clear();
  expect_refused(*g, "0 results, expected 1");
}

TEST(Verify, RefusesAnUnknownSymbol) {
  auto g = small();
  g->nodes[0]->outputs[0].sizes[0] = g->context->symbol("s9", SymbolKind::kSize, {2, 10}, 3);
  expect_refused(*g, "the symbol s9 is used before it is known");
}

TEST(Verify, RefusesAnExpressionOfAnotherGraph) {
  auto g = small();
  auto other = small();
  g->nodes[0]->outputs[0].sizes[0] = other->inputs[0]->outputs[0].sizes[0];
  expect_refused(*g, "belongs to another graph");
}

TEST(Verify, RefusesStridesThatDoNotMatchTheSizes) {
  auto g = small();
  g->nodes[0]->outputs[0].strides.clear();
  expect_refused(*g, "1 sizes and 0 strides");
}

}  // namespace
}  // namespace litz
