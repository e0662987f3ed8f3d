#include "litz/runtime/torch_api.h"

#include <dlfcn.h>

namespace litz::runtime {

void* TorchApi::find(const char* name) const { return dlsym(library, name); }

int32_t TorchApi::device_type(const std::string& name) const {
  auto* code = reinterpret_cast<int32_t (*)()>(find(("aoti_torch_device_type_" + name).c_str()));
  return code ? code() : -1;
}

Result<std::unique_ptr<TorchApi>> TorchApi::load(const std::string& path) {
  auto api = std::make_unique<TorchApi>();
  api->library = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_NOW);
  if (!api->library) return unsupported("{} is not loaded in this process: import torch first", path);
  std::string missing;
#define LITZ_FIND(name, result, arguments) api->name = reinterpret_cast<result(*) arguments>(api->find(#name));
#define LITZ_NEED(name, result, arguments) \
  LITZ_FIND(name, result, arguments)       \
  if (!api->name) missing = #name;
  LITZ_TORCH_FUNCTIONS(LITZ_NEED)
  LITZ_TORCH_NEWER_FUNCTIONS(LITZ_FIND)
#undef LITZ_NEED
#undef LITZ_FIND
  if (!missing.empty()) return unsupported("this torch does not export {}: litz needs torch 2.11 or newer", missing);
  return api;
}

}  // namespace litz::runtime
