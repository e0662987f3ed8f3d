// Random graphs, lowered: every pass over loop IR leaves a program that computes the same bits in the reference interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "litz/loop/simplify_indices.h"
#include "litz/lower/lower_graph.h"
#include "litz/schedule/decide_layouts.h"
#include "litz/schedule/inline_producers.h"
#include "litz/schedule/meet_required_strides.h"
#include "litz/schedule/own_scatter_bases.h"
#include "random_graph.h"
#include "scheduled_program.h"

namespace litz {
namespace {

std::string difference(const HostTensor& a, const HostTensor& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes) return "another type or shape";
  std::string found;
  for_each_coordinate(a.sizes, [&](const std::vector<int64_t>& at) {
    if (!found.empty()) return;
    Scalar x = a.at(at), y = b.at(at);
    bool same = x.integer == y.integer && (std::memcmp(&x.real, &y.real, 8) == 0 || (std::isnan(x.real) && std::isnan(y.real)));
    if (!same) found = fmt::format("at [{}]: {} and {}", fmt::join(at, ", "), x.number().as_double(), y.number().as_double());
  });
  return found;
}

std::string difference(const ReferenceOutputs& a, const ReferenceOutputs& b) {
  for (size_t k = 0; k < a.outputs.size(); ++k) {
    if (auto* t = std::get_if<HostTensor>(&a.outputs[k])) {
      if (std::string text = difference(*t, std::get<HostTensor>(b.outputs[k])); !text.empty()) return fmt::format("output {} {}", k, text);
    } else if (std::get<int64_t>(a.outputs[k]) != std::get<int64_t>(b.outputs[k])) {
      return fmt::format("output {}", k);
    }
  }
  if (a.mutations.size() != b.mutations.size()) return "other inputs are written";
  for (size_t k = 0; k < a.mutations.size(); ++k)
    if (std::string text = difference(a.mutations[k].second, b.mutations[k].second); !text.empty())
      return fmt::format("written input {} {}", a.mutations[k].first, text);
  return "";
}

void check_layouts(const LoopProgram& program) {
  for (const auto& b : program.buffers())
    if (b->definition && std::find(program.operations.begin(), program.operations.end(), b->definition) != program.operations.end())
      EXPECT_NE(b->layout.kind, LayoutKind::kFlexible) << b->name;
}

void check_seed(uint64_t seed) {
  RandomGraph random = random_graph(seed);
  std::string text = to_text(*random.graph);
  SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
  auto plain = lower_graph(*random.graph);
  ASSERT_TRUE(plain) << plain.reason();
  EXPECT_TRUE((*plain)->fallbacks.empty()) << (*plain)->fallbacks[0].op << ": " << (*plain)->fallbacks[0].reason;
  ReferenceOutputs expected = run_reference(**plain, random.inputs);
  LoopProgram& program = **plain;
  const test::FixedTarget target;
  std::vector<Refusal> refusals;
  auto check = [&](std::string_view pass) {
    verify(program);
    EXPECT_EQ(difference(expected, run_reference(program, random.inputs)), "") << "after " << pass << "\n" << to_text(program);
  };
  own_scatter_bases(program);
  check("own_scatter_bases");
  inline_producers(program, target, refusals);
  check("inline_producers");
  simplify_indices(program);
  check("simplify_indices");
  prefer_required_strides(program);
  decide_layouts(program, target);
  meet_required_strides(program);
  check("layouts");
  check_layouts(program);
  auto again = parse_loop_program(to_text(program));
  EXPECT_EQ(difference(expected, run_reference(*again, random.inputs)), "") << "after reading the text back";
}

TEST(Passes, RandomGraphsMeanTheSameAfterEveryPass) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    check_seed(seed);
    if (HasFailure()) return;
  }
}

TEST(RandomGraph, TheSameSeedGivesTheSameGraph) { EXPECT_EQ(to_text(*random_graph(7).graph), to_text(*random_graph(7).graph)); }

}  // namespace
}  // namespace litz
