#include "litz/device/cuda/cuda_driver.h"

#include <dlfcn.h>

namespace litz::cuda {

std::string Driver::text_of(Status status) const {
  const char* text = nullptr;
  if (cuGetErrorString(status, &text) || !text) return fmt::format("CUDA error {}", status);
  return fmt::format("CUDA error {}: {}", status, text);
}

namespace {

Result<Driver> load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return unsupported("no CUDA driver on this machine (libcuda.so.1 is not found)");
  Driver d;
#define LITZ_LOOK_UP(name, arguments)                                 \
  d.name = reinterpret_cast<decltype(d.name)>(dlsym(library, #name)); \
  if (!d.name) return unsupported("the CUDA driver has no {}: 12.0 or newer is needed", #name);
  LITZ_CUDA_FUNCTIONS(LITZ_LOOK_UP)
#undef LITZ_LOOK_UP
  if (const Status failed = d.cuInit(0)) return unsupported("the CUDA driver does not start: {}", d.text_of(failed));
  if (void* torch = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD)) {
    d.current_stream = reinterpret_cast<decltype(d.current_stream)>(dlsym(torch, "aoti_torch_get_current_cuda_stream"));
    d.allocate = reinterpret_cast<decltype(d.allocate)>(dlsym(torch, "aoti_torch_cuda_caching_allocator_raw_alloc"));
    d.release = reinterpret_cast<decltype(d.release)>(dlsym(torch, "aoti_torch_cuda_caching_allocator_raw_delete"));
    if (!d.release) d.allocate = nullptr;
  }
  return d;
}

}  // namespace

Result<Driver>& driver() {
  static auto* loaded = new Result<Driver>(load());
  return *loaded;
}

}  // namespace litz::cuda
