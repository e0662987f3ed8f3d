// Whatever stands in a text, the parser answers with a graph or a UserError.
#include <gtest/gtest.h>

#include <random>

#include "litz/graph/graph.h"
#include "litz/support/check.h"

namespace litz {
namespace {

constexpr std::string_view kSeed = R"(graph f training
schema aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
schema t::other(Tensor? a, Scalar[] b, str c="x", ScalarType? d=None) -> (Tensor, Tensor)
symbol s0 in [2, inf] hint 32
input %s0 : size s0
input %x : f32[s0, 768] strides [768, 1] offset [3] on gpu:1
constant %c : c64[]
%y = aten.add.Tensor(%x, 2.5, alpha=-3) -> f32[s0, 768] built  # f.py:3: y = x
%r, %r.1 = t.other(None, [1, nan, complex(0.0, 1.0)], "a\"b", bf16) -> none, i64[s0*2]
return %y free, s0 + 1, None, 3
)";

TEST(TextMutation, ChangedTextsAreGraphsOrUserErrors) {
  std::mt19937 random(17);
  constexpr std::string_view kAlphabet = "[](){},.=->:%\"\\#*+ 0123456789saxnone\n";
  int parsed = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text(kSeed);
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes; ++i) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = kAlphabet[random() % kAlphabet.size()]; break;
        case 1: text.erase(at, 1 + random() % 8); break;
        default: text.insert(at, 1, kAlphabet[random() % kAlphabet.size()]);
      }
    }
    try {
      auto graph = parse_graph(text);
      const std::string once = to_text(*graph);
      EXPECT_EQ(to_text(*parse_graph(once)), once) << text;
      ++parsed;
    } catch (const UserError&) {
    } catch (const std::exception& e) { ADD_FAILURE() << e.what() << "\n" << text; }
  }
  EXPECT_GT(parsed, 300);
}

}  // namespace
}  // namespace litz
