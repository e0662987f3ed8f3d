#pragma once
// What generated code may call without being told: functions to which LLVM itself turns code (memcpy, float
// conversions) and those of <cmath>. They are given by address, so nothing depends on what else the process exports.
#include <string>
#include <utility>
#include <vector>

namespace litz {

const std::vector<std::pair<std::string, void*>>& libcalls();

}  // namespace litz
