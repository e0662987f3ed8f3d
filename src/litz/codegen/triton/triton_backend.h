#pragma once
// The code generator for devices that Triton compiles for: source here, machine code in worker processes, loading by the device.
#include <functional>
#include <mutex>
#include <unordered_map>

#include "litz/codegen/backend.h"
#include "litz/codegen/triton/worker_pool.h"
#include "litz/kernel/product_tile.h"

namespace litz {

class TritonBackend : public CodegenBackend {
 public:
  /// Makes machine code callable; gets the source as well, to compile it otherwise when a call asks for that.
  using Loader = std::function<Result<CompiledKernel>(const KernelBinary& binary, const std::string& source)>;
  TritonBackend(std::function<std::string()> target, Loader loader) : target_(std::move(target)), loader_(std::move(loader)) {}

  /// Starts the workers.
  void prepare() override { WorkerPool::instance().start(); }
  Result<KernelSource> generate(const Kernel& kernel) override;
  /// Kernels that are equal but for names are compiled once in the life of the process.
  Result<std::vector<CompiledKernel>> compile(const std::vector<KernelSource>& sources) override;

 private:
  std::function<std::string()> target_;
  Loader loader_;
  std::mutex mutex_;                                        // guards loaded_
  std::unordered_map<std::string, CompiledKernel> loaded_;  // by the source without names and comments
};

/// Source of one kernel; the reason where Triton cannot say it.
Result<KernelSource> triton_source(const Kernel& kernel, const ProductTile* tile = nullptr);

}  // namespace litz
