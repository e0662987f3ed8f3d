#include "litz/device/cpu/cpu_device.h"

#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "litz/codegen/cpp/cpp_backend.h"
#include "litz/codegen/cpp/jit/cpp_jit.h"
#include "litz/device/cpu/cpu_attention.h"
#include "litz/device/cpu/pack_weights.h"

namespace litz {
namespace {

int64_t cache_bytes(int name, int64_t fallback) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

/// Whether the framework's libraries have arithmetic for the type on this processor. Where they do not, they take ten times as long as
/// in float32, conversions included.
bool multiplies(DType dtype) {
#if defined(__x86_64__)
  if (dtype == DType::kBFloat16) return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (dtype == DType::kFloat16) return __builtin_cpu_supports("avx512fp16");
#endif
  return true;
}

class CpuTarget : public Target {
 public:
  CpuTarget(const CompileTarget& compile, bool is_generic) {
    facts_.execution = ExecutionModel::kThreadsOfVectors;
    facts_.vector_bytes = compile.vector_bytes;
    facts_.vector_registers = compile.vector_bytes >= 64 ? 32 : 16;
    if (is_generic) return;  // the same code on every machine
    facts_.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, facts_.l1_bytes);
    facts_.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, facts_.l2_bytes);
    multiplies_bfloat16_ = multiplies(DType::kBFloat16);
    multiplies_float16_ = multiplies(DType::kFloat16);
  }
  std::string_view device_type() const override { return "cpu"; }
  const TargetFacts& facts() const override { return facts_; }
  bool prefers_channels_last(DType, bool) const override { return true; }
  DType product_type(DType dtype) const override {
    const bool is_emulated = (dtype == DType::kBFloat16 && !multiplies_bfloat16_) || (dtype == DType::kFloat16 && !multiplies_float16_);
    return is_emulated ? DType::kFloat32 : dtype;
  }

 private:
  TargetFacts facts_;
  bool multiplies_bfloat16_ = true, multiplies_float16_ = true;
};

class CpuDevice : public DeviceInterface {
 public:
  CpuDevice(const CompileTarget& compile, bool is_generic) : target_(compile, is_generic), codegen_(compile) {}
  std::string_view type() const override { return "cpu"; }
  const Target& target() const override { return target_; }
  CodegenBackend& codegen() override { return codegen_; }
  Result<AttentionCall> attention_call(const AttentionShape& shape) const override { return cpu_attention_call(shape); }
  void pack_weights(Graph& graph, ConstantEvaluator& evaluator) override { litz::pack_weights(graph, evaluator); }

 private:
  CpuTarget target_;
  CppBackend codegen_;
};

}  // namespace

DeviceInterface& cpu_device(std::string_view instruction_set) {
  static std::mutex mutex;
  // Never destroyed: a compile on another thread may outlive main.
  static auto* devices = new std::map<std::string, std::unique_ptr<CpuDevice>, std::less<>>;
  std::lock_guard lock(mutex);
  auto found = devices->find(instruction_set);
  if (found == devices->end()) {
    Result<CompileTarget> compile = host_target(instruction_set);
    if (!compile) user_error("{}", compile.reason());
    found = devices->emplace(instruction_set, std::make_unique<CpuDevice>(*compile, !instruction_set.empty())).first;
  }
  return *found->second;
}

}  // namespace litz
