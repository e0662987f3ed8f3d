// NVIDIA GPUs. Without a driver the target is a Hopper GPU on paper: sources can be made anywhere, but not loaded.
#include "litz/device/cuda/cuda_device.h"

#include "litz/codegen/triton/triton_backend.h"
#include "litz/device/cuda/cuda_attention.h"
#include "litz/device/cuda/cuda_driver.h"
#include "litz/device/cuda/cuda_kernel.h"

namespace litz {
namespace {

int attribute(cuda::Attribute which, int fallback) {
  if (!cuda::driver()) return fallback;
  int device = 0, value = 0;
  const bool known = !cuda::driver()->cuDeviceGet(&device, 0) && !cuda::driver()->cuDeviceGetAttribute(&value, which, device);
  return known ? value : fallback;
}

class CudaTarget : public Target {
 public:
  CudaTarget() {
    facts_.execution = ExecutionModel::kGridOfBlocks;
    facts_.multiprocessors = attribute(cuda::kMultiprocessors, 132);
    facts_.shared_bytes = attribute(cuda::kMaxSharedBytesOptin, 227 << 10);
    facts_.l2_bytes = attribute(cuda::kL2Bytes, 50 << 20);
    facts_.tensor_alignment = 256;
    facts_.max_grid[0] = INT32_MAX;
    facts_.max_grid[1] = facts_.max_grid[2] = 65535;
    facts_.has_atomics = true;
    facts_.knows_last_program = true;
    facts_.runs_programs_together = attribute(cuda::kCooperativeLaunch, 1) != 0;
    facts_.draws_random_numbers = true;
    facts_.sorted_elements = 512;
    facts_.matrix_row_bytes = 16;
  }
  std::string_view device_type() const override { return "cuda"; }
  const TargetFacts& facts() const override { return facts_; }
  bool prefers_channels_last(DType, bool) const override { return true; }
  InlineLimits inline_limits() const override {
    InlineLimits limits;
    limits.max_heavy_users = 4;  // arithmetic is cheaper than memory
    limits.max_slow_repeats = 8;
    return limits;
  }

 private:
  TargetFacts facts_;
};

std::string compile_target() { return fmt::format("cuda:{}", 10 * attribute(cuda::kMajor, 9) + attribute(cuda::kMinor, 0)); }

class CudaDevice : public DeviceInterface {
 public:
  CudaDevice()
      : codegen_(compile_target, [](const KernelBinary& binary, const std::string& source) {
          return cuda::load_kernel(binary, source, compile_target());
        }) {}
  std::string_view type() const override { return "cuda"; }
  const Target& target() const override { return target_; }
  CodegenBackend& codegen() override { return codegen_; }
  std::vector<ProductTile> product_tiles(int64_t rows, int64_t columns, bool computes_factors) const override {
    std::vector<ProductTile> out;
    auto offer = [&](ProductTile t) {
      // A computed left factor comes to the multiplication in registers. With three stages or more Triton 3.6 lets multiplications run on
      // while the next factor is written to those registers, and wide tiles were wrong.
      if (computes_factors) t.stages = std::min(t.stages, 2);
      if (t.rows <= 2 * rows && t.columns <= 2 * columns) out.push_back(t);
    };
    if (cuda::has_tensor_descriptors() && !computes_factors) {
      // A program for each multiprocessor goes from tile to tile: the loads of the next tile run while what follows this one's product is
      // computed. Two for each, on smaller tiles: one multiplies while the other computes.
      const int programs = target_.facts().multiprocessors;
      offer({128, 256, 64, 8, 3, programs, 2});
      offer({128, 256, 64, 8, 4, programs, 2});
      offer({128, 128, 64, 8, 3, 2 * programs, 2});
      offer({128, 128, 64, 4, 3, 2 * programs, 2});
      offer({128, 128, 64, 4, 4, programs, 1});
    }
    offer({128, 256, 64, 8, 3});
    offer({128, 128, 64, 8, 3});
    offer({128, 128, 64, 4, 4});
    offer({256, 128, 64, 8, 3});
    offer({64, 128, 64, 4, 4});
    offer({64, 64, 64, 4, 4});
    return out;
  }
  Result<KernelSource> generate_product(const Kernel& kernel, const ProductTile& tile) override { return triton_source(kernel, &tile); }
  Result<AttentionCall> attention_call(const AttentionShape& shape) const override { return cuda::attention_call(shape); }
  std::string mode_effect(std::string_view mode) const override {
    const std::string recorded = "graphs are recorded when they are called for the second time, and replayed";
    const std::string measured = "matrix products are measured against kernels that compute what reads them as well";
    if (mode == "max-autotune") return measured + "; " + recorded;
    return mode == "reduce-overhead" ? recorded : mode == "max-autotune-no-cudagraphs" ? measured : "";
  }
  void set_worker_command(const std::vector<std::string>& command) override { WorkerPool::instance().set_command(command); }

 private:
  CudaTarget target_;
  TritonBackend codegen_;
};

}  // namespace

DeviceInterface& cuda_device() {
  static CudaDevice device;
  return device;
}

}  // namespace litz
