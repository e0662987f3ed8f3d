#pragma once
// The whole interface of a code generator: kernel IR in, source and something callable out.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "litz/kernel/kernel.h"
#include "litz/support/check.h"

namespace litz {

/// Source of one kernel: stable names, comments that cite the source op and the user's line; the same kernel gives the same text
/// but for its entry's name, so that identical kernels are compiled once.
struct KernelSource {
  std::string entry;  // function name
  std::string text;
  std::string language;  // "cpp", "py": for dumps
};

/// A compiled kernel as the executor calls it (see runtime/program.h).
struct CompiledKernel {
  void* function = nullptr;
  std::shared_ptr<void> owner;
  /// Kernels of a device: puts `range` pieces on the current stream of the device with this index; `object` is `function`. 0, or an
  /// error's kind and message.
  int (*launch)(void* object, int32_t device, void* const* pointers, const int64_t* numbers, int64_t range, std::string* message) = nullptr;
};

class CodegenBackend {
 public:
  virtual ~CodegenBackend() = default;
  /// Starts, in the background, what the first compile would wait for.
  virtual void prepare() {}
  virtual Result<KernelSource> generate(const Kernel& kernel) = 0;
  /// Compiles in parallel; returns one entry per source, in order; identical texts are compiled once. Called with all kernels of a graph.
  virtual Result<std::vector<CompiledKernel>> compile(const std::vector<KernelSource>& sources) = 0;
};

}  // namespace litz
