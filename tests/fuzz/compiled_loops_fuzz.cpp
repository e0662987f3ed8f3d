// A loop program, scheduled and compiled, gives what the reference interpreter gives, whatever its operations, shapes and layouts.
#include "fuzz_check.h"
#include "kernel_runner.h"
#include "random_program.h"

namespace litz {

void fuzz_one(std::span<const uint8_t> input) {
  size_t next = 0;  // behind the end every choice is the first
  const test::RandomProgram program =
      test::random_program([&](int n) { return next < input.size() ? static_cast<int>(input[next++]) % n : 0; });
  test::KernelRunner runner(program.text);
  test::RunOptions options;
  options.sizes = program.sizes;
  options.tolerance = 4;
  options.least_tolerance = program.least_tolerance;
  options.cuts = 2;
  options.seed = input.empty() ? 1 : input[0] + 1;
  const std::string difference = runner.compare(options);
  fuzz_check(difference.empty(), difference + "\n" + program.text + runner.kernel_ir());
}

}  // namespace litz
