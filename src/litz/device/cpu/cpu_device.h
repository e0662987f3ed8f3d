#pragma once
// The host's processor: vector kernels in C++, compiled in process, run on the framework's threads.
#include "litz/device/device.h"

namespace litz {

/// One device per instruction set, made on first use; "" is the widest that the processor has.
DeviceInterface& cpu_device(std::string_view instruction_set);

}  // namespace litz
