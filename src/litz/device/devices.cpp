#include "litz/device/cpu/cpu_device.h"
#include "litz/device/cuda/cuda_device.h"
#include "litz/device/device.h"

namespace litz {
namespace {

struct Entry {
  std::string_view type;
  DeviceInterface& (*device)(std::string_view instruction_set);  // made when first asked for
};
constexpr Entry kDevices[] = {{"cpu", cpu_device}, {"cuda", [](std::string_view) -> DeviceInterface& { return cuda_device(); }}};

}  // namespace

DeviceInterface* find_device(std::string_view type, std::string_view instruction_set) {
  for (const Entry& entry : kDevices)
    if (entry.type == type) return &entry.device(instruction_set);
  return nullptr;
}

}  // namespace litz
