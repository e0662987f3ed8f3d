// Random programs: compiled code agrees with the reference interpreter, for lengths around the lanes and for any cuts of the range.
// A failure prints the program.
#include <gtest/gtest.h>

#include <random>

#include "kernel_runner.h"
#include "random_program.h"

namespace litz::test {
namespace {

RandomProgram program_of_seed(uint64_t seed) {
  std::mt19937_64 random(seed);
  return random_program([&random](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); });
}

void expect_random_program_agrees(uint64_t seed) {
  const RandomProgram program = program_of_seed(seed);
  SCOPED_TRACE(fmt::format("seed {}\n{}", seed, program.text));
  KernelRunner runner(program.text);
  RunOptions options;
  options.sizes = program.sizes;
  options.tolerance = 4;
  options.least_tolerance = program.least_tolerance;
  for (int cuts : {0, 2}) {
    options.cuts = cuts;
    options.seed = seed + static_cast<uint64_t>(cuts);
    ASSERT_EQ(runner.compare(options), "") << runner.kernel_ir() << runner.cpp();
  }
}

TEST(RandomPrograms, CompiledAgreesWithInterpreted) {
  const char* more = std::getenv("LITZ_TEST_SEEDS");
  const uint64_t count = more ? std::stoull(more) : 40;
  for (uint64_t seed = 0; seed < count; ++seed) {
    ASSERT_NO_THROW(expect_random_program_agrees(seed)) << "seed " << seed << "\n" << program_of_seed(seed).text;
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace litz::test
