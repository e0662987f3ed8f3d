#pragma once
// Random loop programs: groups of pointwise operations, reductions and scans over random types, shapes and layouts. Ops are
// continuous, so that a rounding more or less does not show.
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace litz::test {

/// Gives a number in [0, n): a random one, or one that a fuzzer chose.
using Choose = std::function<int(int n)>;

struct RandomProgram {
  std::string text;
  std::map<std::string, int64_t> sizes;  // of its symbols
  double least_tolerance;                // relative: what may be between compiled and interpreted results
};
/// The same choices give the same program.
RandomProgram random_program(const Choose& choose);

}  // namespace litz::test
