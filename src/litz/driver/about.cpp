#include <cstdio>
#include <string>

#include "litz/codegen/cpp/jit/cpp_jit.h"
#include "litz/device/device.h"
#include "litz/driver/api_guard.h"
#include "litz/driver/c_api.h"
#include "litz/driver/choose_products.h"
#include "litz/driver/json_text.h"
#include "litz/driver/measure_api.h"
#include "litz/driver/pipeline.h"

namespace litz {
namespace {

constexpr const char* kKernel = R"(
typedef float lanes __attribute__((ext_vector_type(4), aligned(4)));
extern "C" void scale(const float* x, float* y, long n) {
  for (long i = 0; i < n; i += 4) *(lanes*)(y + i) = *(const lanes*)(x + i) * 3.0f + 1.0f;
}
)";

Result<bool> run_selftest() {
  static CppJit* jit = new CppJit({});
  Result<CompileTarget> target = host_target();
  if (!target) return Unsupported{target.reason()};
  Result<CompiledModule> module = jit->compile({.name = "selftest.cpp", .text = kKernel}, *target);
  if (!module) return Unsupported{module.reason()};
  const float x[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  float y[8] = {};
  module->function<void(const float*, float*, long)>("scale")(x, y, 8);
  for (int i = 0; i < 8; ++i) {
    const float expected = 3.0f * static_cast<float>(i) + 1.0f;
    if (y[i] != expected) return unsupported("the kernel of the self-test gave {} at {}, expected {}", y[i], i, expected);
  }
  return true;
}

}  // namespace
}  // namespace litz

extern "C" const char* litz_version(void) { return LITZ_VERSION; }

extern "C" const char* litz_compiler_version(void) {
  static const std::string text = std::string("clang ") + litz::cpp_compiler_version();
  return text.c_str();
}

extern "C" void litz_prepare(const char* device_type) {
  try {
    if (litz::DeviceInterface* device = litz::find_device(device_type)) device->codegen().prepare();
  } catch (const std::exception&) {
    // The compile that needs the device will meet the error and report it.
  }
}

extern "C" void litz_set_worker_command(const char* device_type, const char* const* words, size_t count) {
  litz::DeviceInterface* device = litz::find_device(device_type);
  if (device) device->set_worker_command(std::vector<std::string>(words, words + count));
}

extern "C" void litz_set_measurer(litz_measure measure, void* context) {
  if (!measure) return litz::set_measurer({});
  litz::set_measurer([=](const std::string& request, std::vector<double>& times) {
    return measure(context, request.c_str(), times.data(), times.size()) == 0;
  });
}

extern "C" int litz_selftest_jit(char* message, size_t size) {
  std::string reason;
  try {
    litz::Result<bool> result = litz::run_selftest();
    if (result) return 0;
    reason = result.reason();
  } catch (const std::exception& error) { reason = error.what(); }
  std::snprintf(message, size, "%s", reason.c_str());
  return 1;
}
