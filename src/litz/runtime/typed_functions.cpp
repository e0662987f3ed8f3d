#include "litz/runtime/typed_functions.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace litz::runtime {

void* TypedFunctions::find_address(std::string_view op) const {
  const std::string name = fmt::format("aoti_torch_{}_{}", device, op);
  void* found = api.find(name.c_str());
  if (!found)
    if (void* library = dlopen(fmt::format("libtorch_{}.so", device).c_str(), RTLD_NOW | RTLD_NOLOAD)) found = dlsym(library, name.c_str());
  return found;
}

bool ShortList::fits(const ExternArg& argument) {
  auto* list = std::get_if<ExternArgs>(&argument);
  if (!list || list->size() > 4) return false;
  for (const ExternArg& e : *list)
    if (!std::holds_alternative<int64_t>(e) && !std::holds_alternative<NumberArg>(e)) return false;
  return true;
}

ShortList::ShortList(const ExternArg& argument, CallFrame& frame) {
  for (const ExternArg& e : std::get<ExternArgs>(argument)) {
    auto* i = std::get_if<int64_t>(&e);
    values[size++] = i ? *i : frame.number(std::get<NumberArg>(e).entry);
  }
}

}  // namespace litz::runtime
