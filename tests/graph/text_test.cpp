#include <gtest/gtest.h>

#include "litz/graph/argument.h"
#include "litz/graph/graph.h"
#include "litz/support/check.h"

namespace litz {
namespace {

constexpr const char* kExample = R"(graph f
schema aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
schema aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
schema aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)
schema prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor
symbol s0 in [2, inf] hint 32
input %s0 : size s0
input %x : f32[s0, 768]
input %w : f32[768]
input %b : f32[768]
%h, %h.1, %h.2 = aten.native_layer_norm(%x, [768], %w, %b, 1e-05) -> f32[s0, 768], f32[s0, 1], f32[s0, 1]  # f.py:2: h = layer_norm(x, (768,), w, b)
%x1 = aten.add.Tensor(%x, %x, alpha=2) -> f32[s0, 768]  # f.py:3: x.add_(1)
%out = prims.convert_element_type(%h, bf16) -> bf16[s0, 768]  # f.py:4
%x2 = aten.copy_(%x, %x1) -> f32[s0, 768]
return %out
)";

TEST(Text, TheExampleReadsBackAsItself) {
  auto g = parse_graph(kExample);
  verify(*g);
  EXPECT_EQ(to_text(*g), kExample);
  EXPECT_EQ(g->nodes[1]->argument("alpha").as<int64_t>(), 2);
  EXPECT_EQ(g->nodes[0]->source->text, "h = layer_norm(x, (768,), w, b)");
  EXPECT_EQ(g->inputs[1]->outputs[0].sizes[0].hint(), 32);
}

TEST(Text, EveryKindOfArgumentReadsBackAsItself) {
  constexpr const char* kText = R"IR(graph kinds training
schema t::other(Tensor? a, Scalar[] b, str c, ScalarType? d, Device? e, MemoryFormat? f, Layout? g, SymInt[] h, Tensor?[] i, bool j) -> Tensor[]
schema t::sink(Scalar self, str message) -> ()
symbol u8 unbacked in [0, inf]
symbol s1 in [-5, 100]
input %s1 : size s1
input %x : f32[2, 3] strides [1, 2] offset [4] on gpu:1
constant %c : c64[]
%r, %r.1 = t.other(None, [1, -0.0, inf, -inf, nan, 1e+300, complex(0.0, -0.0), True], "a \"b\", #\n)", bf16, gpu:1, channels_last_3d, "strided", [s1*2, 3], [None, %x], False) -> f32[u8 + s1], none built  # "a b.py":7: "s = 'x'  # \"y\" "
%n = t.sink(u8, "positive") -> ()
%m, %m.1 = t.other(%r, [], "", None, None, preserve, None, [], [], True) -> f32[], i64[], int [u8 + 1]
return %r free, %m.1, None, u8 + s1, 3, -1.5, True
)IR";
  auto g = parse_graph(kText);
  verify(*g);
  EXPECT_EQ(to_text(*g), kText);
  EXPECT_FALSE(g->nodes[1]->is_imported);
  EXPECT_TRUE(g->nodes[2]->is_imported);
  EXPECT_EQ(g->nodes[1]->argument("d").as<DType>(), DType::kBFloat16);
  EXPECT_EQ(g->nodes[1]->argument("c").as<std::string>(), "a \"b\", #\n)");
}

TEST(Text, DefaultsAreFilledIn) {
  auto g = parse_graph(R"(graph d
schema aten::conv(Tensor x, int[2] stride=1, float eps=1, *, MemoryFormat? memory_format=contiguous_format) -> Tensor
input %x : f32[2]
%y = aten.conv(%x) -> f32[2]
return %y
)");
  const Node& n = *g->nodes[0];
  EXPECT_TRUE(same_argument(n.arguments[1], Argument(ArgumentList{int64_t{1}, int64_t{1}})));
  EXPECT_TRUE(same_argument(n.arguments[2], Argument(1.0)));
  EXPECT_TRUE(same_argument(n.arguments[3], Argument(MemoryFormat::kContiguous)));
}

std::string error_of(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const UserError& e) { return e.what(); }
  return "no error";
}

TEST(Text, ErrorsNameTheLine) {
  EXPECT_EQ(error_of(""), "graph text: expected \"graph name\" in the first line");
  EXPECT_EQ(error_of("graph g\n"), "graph text: expected a line \"return ...\" at the end");
  EXPECT_EQ(error_of("graph g\nreturn %x\n"), "graph text, line 2, column 8: %x is not defined before this line");
  EXPECT_EQ(error_of("graph g\n%x = aten.relu(%y) -> f32[]\n"), "graph text, line 2, column 6: no schema line for aten.relu");
  EXPECT_EQ(error_of("graph g\ninput %x : q7[2]\n"), "graph text, line 2, column 12: unknown element type \"q7\"");
  EXPECT_EQ(error_of("graph g\ninput %x : f32[2]\ninput %x : f32[2]\n"),
            "graph text, line 3, column 7: %x is defined twice, or is no name of letters, digits and '_'");
  EXPECT_EQ(error_of("graph g\nschema aten::relu(Tensor self) -> Tensor\ninput %x : f32[2]\n%y = aten.relu() -> f32[2]\n"),
            "graph text, line 4, column 16: argument 'self' of aten.relu is missing");
}

TEST(Graph, NamesAreUnique) {
  Graph g("g");
  EXPECT_EQ(g.unique_name("add"), "add");
  EXPECT_EQ(g.unique_name("add"), "add_1");
  EXPECT_EQ(g.unique_name("add_1"), "add_2");
  EXPECT_EQ(g.unique_name("L['x']"), "L__x__");
}

}  // namespace
}  // namespace litz
