#pragma once
// The code generator for processors: kernel IR to C++ to machine code in this process.
#include <atomic>

#include "litz/codegen/backend.h"
#include "litz/codegen/cpp/jit/cpp_jit.h"

namespace litz {

class CppBackend : public CodegenBackend {
 public:
  explicit CppBackend(CompileTarget target);

  void prepare() override;
  Result<KernelSource> generate(const Kernel& kernel) override;
  /// Kernels that are equal but for names are compiled once. The others are spread over as many translation units as there are
  /// compiling threads, so that the vector header is read once by each.
  Result<std::vector<CompiledKernel>> compile(const std::vector<KernelSource>& sources) override;

 private:
  CompileTarget target_;
  CppJit jit_;
  std::atomic<bool> prepared_ = false;
};

/// A complete translation unit of these kernels.
std::string translation_unit(const std::vector<const KernelSource*>& kernels);

}  // namespace litz
