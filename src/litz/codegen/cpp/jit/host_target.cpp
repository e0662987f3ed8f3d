#include <array>
#include <vector>

#include "litz/codegen/cpp/jit/clang_library.h"
#include "litz/codegen/cpp/jit/cpp_jit.h"

namespace litz {
namespace {

struct InstructionSet {
  const char* name;
  int vector_bytes;
  const char* cpu;                      // null: the host's own
  std::vector<const char*> needs = {};  // LLVM's features
};

/// From the widest to the narrowest. A restricted set is a generic processor, so that it gives the same code
/// everywhere.
const std::vector<InstructionSet>& instruction_sets() {
  static const std::vector<InstructionSet> sets = {
#if defined(__x86_64__)
      {"avx512", 64, nullptr, {"avx512f", "avx512bw", "avx512dq", "avx512vl"}},
      {"avx2", 32, "x86-64-v3", {"avx2", "fma", "f16c", "bmi2"}},
      {"sse", 16, "x86-64"},
#elif defined(__aarch64__)
      {"neon", 16, nullptr},
#endif
  };
  return sets;
}

bool has(const std::string& features, const char* name) {
  return ("," + features + ",").find(std::string(",+") + name + ",") != std::string::npos;
}

}  // namespace

Result<CompileTarget> host_target(std::string_view instruction_set) {
  std::array<std::string, 2> host;  // processor, features
  jit_clang_host([](void* h, const char* b, size_t n) { (*static_cast<std::array<std::string, 2>*>(h))[0].assign(b, n); },
                 [](void* h, const char* b, size_t n) { (*static_cast<std::array<std::string, 2>*>(h))[1].assign(b, n); }, &host);
  std::string known;
  for (const InstructionSet& set : instruction_sets()) {
    known += std::string(known.empty() ? "" : ", ") + set.name;
    if (!instruction_set.empty() && instruction_set != set.name) continue;
    std::string missing;
    for (const char* feature : set.needs) {
      if (!has(host[1], feature)) missing += std::string(" ") + feature;
    }
    if (missing.empty()) {
      const bool restricted = set.cpu && !instruction_set.empty();
      return CompileTarget{restricted ? set.cpu : host[0], restricted ? "" : host[1], set.vector_bytes};
    }
    if (!instruction_set.empty()) return unsupported("instruction set {} asked for, this processor lacks{}", set.name, missing);
  }
  return unsupported("unknown instruction set '{}', expected one of: {}", instruction_set, known);
}

}  // namespace litz
