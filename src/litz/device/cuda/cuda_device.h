#pragma once
#include "litz/device/device.h"

namespace litz {

DeviceInterface& cuda_device();

}  // namespace litz
