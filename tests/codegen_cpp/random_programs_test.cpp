// Random programs: compiled code agrees with the reference interpreter, for lengths around the lanes and for any cuts of the range.
// A failure prints the smallest program that still fails.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>

#include "kernel_runner.h"
#include "random_program.h"

namespace litz::test {
namespace {

// Before RapidCheck reads it; a user's own setting wins, and a failure prints the one that reproduces it.
const int configured = setenv("RC_PARAMS", "max_success=60 max_size=80", 0);

using Choices = std::vector<uint8_t>;

/// Behind the end every choice is the first: shorter and smaller choices give smaller programs.
RandomProgram program_of(const Choices& choices) {
  size_t next = 0;
  return random_program([&](int n) { return next < choices.size() ? choices[next++] % n : 0; });
}

TEST(RandomPrograms, CompiledAgreesWithInterpreted) {
  ASSERT_EQ(configured, 0);
  EXPECT_TRUE(rc::check("a compiled program gives what the interpreted one gives", [](const Choices& choices, uint8_t seed) {
    const RandomProgram program = program_of(choices);
    RC_LOG() << program.text;
    KernelRunner runner(program.text);
    RunOptions options;
    options.sizes = program.sizes;
    options.tolerance = 4;
    options.least_tolerance = program.least_tolerance;
    for (int cuts : {0, 2}) {
      options.cuts = cuts;
      options.seed = uint64_t{1} + seed + static_cast<uint64_t>(cuts);
      const std::string difference = runner.compare(options);
      if (!difference.empty()) RC_LOG() << difference << "\n" << runner.kernel_ir() << runner.cpp();
      RC_ASSERT(difference.empty());
    }
  }));
}

}  // namespace
}  // namespace litz::test
