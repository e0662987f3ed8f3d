#include "litz/device/cpu/cpu_device.h"

#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "litz/codegen/cpp/cpp_backend.h"
#include "litz/codegen/cpp/jit/cpp_jit.h"

namespace litz {
namespace {

int64_t cache_bytes(int name, int64_t fallback) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

class CpuTarget : public Target {
 public:
  explicit CpuTarget(const CompileTarget& compile) {
    facts_.execution = ExecutionModel::kThreadsOfVectors;
    facts_.vector_bytes = compile.vector_bytes;
    facts_.vector_registers = compile.vector_bytes >= 64 ? 32 : 16;
    facts_.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, facts_.l1_bytes);
    facts_.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, facts_.l2_bytes);
    facts_.prefers_channels_last = true;
  }
  std::string_view device_type() const override { return "cpu"; }
  const TargetFacts& facts() const override { return facts_; }

 private:
  TargetFacts facts_;
};

class CpuDevice : public DeviceInterface {
 public:
  explicit CpuDevice(const CompileTarget& compile) : target_(compile), codegen_(compile) {}
  std::string_view type() const override { return "cpu"; }
  const Target& target() const override { return target_; }
  CodegenBackend& codegen() override { return codegen_; }

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
    found = devices->emplace(instruction_set, std::make_unique<CpuDevice>(*compile)).first;
  }
  return *found->second;
}

}  // namespace litz
