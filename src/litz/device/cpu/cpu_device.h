#pragma once
// The host's processor: vector kernels in C++, compiled in process, run on the framework's threads.
#include "litz/device/device.h"

namespace litz {

DeviceInterface& cpu_device();

}  // namespace litz
