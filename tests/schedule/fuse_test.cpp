#include "litz/schedule/fuse.h"

#include <gtest/gtest.h>

#include "scheduled_program.h"

namespace litz {
namespace {

struct Scheduled : test::Scheduled {
  std::string text() const { return to_text(schedule); }
  size_t kernels() const {
    size_t n = 0;
    for (const auto& g : schedule.groups) n += g->kind == GroupKind::kLoops;
    return n;
  }
};

Scheduled schedule_text(std::string_view text) { return {test::schedule_program(parse_loop_program(text), test::FixedTarget())}; }

TEST(Fuse, NormalisationAndMutationBecomeOneKernel) {
  auto s = schedule_text(R"(program f
  symbol s0 size in [2, inf] hint 32
  buffer x : f32[s0, 768] input strides [768, 1]
  buffer w : f32[768] input strides [1]
  buffer mean : f32[s0, 1] flexible
  buffer m2 : f32[s0, 1] flexible
  buffer h : f32[s0, 768] flexible
  buffer x@1 : f32[s0, 768] version_of x strides [768, 1] promised
  buffer out : bf16[s0, 768] strides [768, 1] promised escapes
  parameters (s0), %x, %w
  op var reduction welford f32 (i0 < s0, i1 < 1 ; r0 < 768) -> mean, m2 {
    v0 = load x [i0, r0]
    yield v0
  }
  op norm pointwise (i0 < s0, i1 < 768) -> h {
    v0 = load x [i0, i1]
    v1 = load mean [i0, 0]
    v2 = sub v0 v1
    v3 = load m2 [i0, 0]
    v4 = rsqrt v3
    v5 = mul v2 v4
    v6 = load w [i1]
    v7 = mul v5 v6
    yield v7
  }
  op add pointwise (i0 < s0, i1 < 768) -> x@1 {
    v0 = load x [i0, i1]
    v1 = constant 1 : f32
    v2 = add v0 v1
    yield v2
  }
  op cast pointwise (i0 < s0, i1 < 768) -> out {
    v0 = load h [i0, i1]
    v1 = cast_kept v0 : bf16
    yield v1
  }
  return %out
  mutates x x@1
)");
  EXPECT_EQ(s.kernels(), 1u) << s.text();
  EXPECT_EQ(s.schedule.groups[0]->members.size(), 3u) << s.text();
}

TEST(Fuse, SoftmaxRowIsOneKernel) {
  auto s = schedule_text(R"(program f
  buffer x : f32[64, 1000] input strides [1000, 1]
  buffer top : f32[64, 1] flexible
  buffer e : f32[64, 1000] flexible
  buffer total : f32[64, 1] flexible
  buffer out : f32[64, 1000] strides [1000, 1] promised escapes
  parameters %x
  op amax reduction max f32 (i0 < 64, i1 < 1 ; r0 < 1000) -> top {
    v0 = load x [i0, r0]
    yield v0
  }
  op exp pointwise (i0 < 64, i1 < 1000) -> e {
    v0 = load x [i0, i1]
    v1 = load top [i0, 0]
    v2 = sub v0 v1
    v3 = exp v2
    yield v3
  }
  op sum reduction sum f32 (i0 < 64, i1 < 1 ; r0 < 1000) -> total {
    v0 = load e [i0, r0]
    yield v0
  }
  op div pointwise (i0 < 64, i1 < 1000) -> out {
    v0 = load e [i0, i1]
    v1 = load total [i0, 0]
    v2 = div v0 v1
    yield v2
  }
  return %out
)");
  EXPECT_EQ(s.kernels(), 1u) << s.text();
}

TEST(Fuse, ReshapeBetweenKernelsSplitsTheAxis) {
  auto s = schedule_text(R"(program f
  buffer x : f32[8, 768] input strides [768, 1]
  buffer a : f32[8, 768] strides [768, 1] promised escapes
  buffer b : f32[8, 12, 64] strides [768, 64, 1] promised escapes
  buffer c : f32[8, 768] strides [768, 1] promised escapes
  parameters %x
  op exp pointwise (i0 < 8, i1 < 768) -> a {
    v0 = load x [i0, i1]
    v1 = exp v0
    yield v1
  }
  op neg pointwise (i0 < 8, i1 < 12, i2 < 64) -> b {
    v0 = load a [i0, i1*64 + i2]
    v1 = neg v0
    yield v1
  }
  op flat pointwise (i0 < 8, i1 < 768) -> c {
    v0 = load b [i0, i1 // 64, i1 % 64]
    v1 = abs v0
    yield v1
  }
  return %a, %b, %c
)");
  EXPECT_EQ(s.kernels(), 1u) << s.text();
}

TEST(Fuse, TransposedReaderKeepsItsOwnKernelOrMapsExactly) {
  auto s = schedule_text(R"(program f
  buffer x : f32[32, 64] input strides [64, 1]
  buffer a : f32[32, 64] strides [64, 1] promised escapes
  buffer b : f32[64, 32] strides [32, 1] promised escapes
  parameters %x
  op exp pointwise (i0 < 32, i1 < 64) -> a {
    v0 = load x [i0, i1]
    v1 = exp v0
    yield v1
  }
  op turn pointwise (i0 < 64, i1 < 32) -> b {
    v0 = load a [i1, i0]
    v1 = neg v0
    yield v1
  }
  return %a, %b
)");
  for (const auto& g : s.schedule.groups) EXPECT_FALSE(g->members.empty());
  EXPECT_EQ(s.kernels(), 1u) << s.text();
}

TEST(Fuse, ShiftedReadIsRefusedWithItsReason) {
  auto s = schedule_text(R"(program f
  buffer x : f32[64] input strides [1]
  buffer a : f32[64] strides [1] promised escapes
  buffer b : f32[64] strides [1] promised escapes
  parameters %x
  op exp pointwise (i0 < 64) -> a {
    v0 = load x [i0]
    v1 = exp v0
    yield v1
  }
  op turn pointwise (i0 < 64) -> b {
    v0 = load a [-i0 + 63]
    v1 = load x [i0]
    v2 = add v0 v1
    yield v2
  }
  return %a, %b
)");
  EXPECT_EQ(s.kernels(), 2u) << s.text();
  ASSERT_FALSE(s.schedule.refusals.empty());
}

TEST(Fuse, OldVersionReadElsewhereKeepsItsStorage) {
  auto s = schedule_text(R"(program f
  buffer x : f32[8, 8] input strides [8, 1]
  buffer x@1 : f32[8, 8] version_of x strides [8, 1] promised
  parameters %x
  op turn pointwise (i0 < 8, i1 < 8) -> x@1 {
    v0 = load x [i1, i0]
    yield v0
  }
  mutates x x@1
)");
  EXPECT_TRUE(s.schedule.storage_of.empty()) << s.text();
}

}  // namespace
}  // namespace litz
