#include "litz/device/device.h"

#include "litz/device/cpu/cpu_device.h"
#include "litz/device/cuda/cuda_device.h"

namespace litz {
namespace {

struct Entry {
  std::string_view type;
  DeviceInterface& (*device)();  // made when first asked for
};
constexpr Entry kDevices[] = {{"cpu", cpu_device}, {"cuda", cuda_device}};

}  // namespace

DeviceInterface* find_device(std::string_view type) {
  for (const Entry& entry : kDevices)
    if (entry.type == type) return &entry.device();
  return nullptr;
}

}  // namespace litz
