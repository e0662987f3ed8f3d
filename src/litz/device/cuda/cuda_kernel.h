#pragma once
// A loaded kernel and its launcher. A kernel is compiled for pointers that are multiples of 16 bytes; a call with others gets a
// variant that assumes nothing, compiled when it is first needed.
//
// Errors of a kernel (an index out of range) are written by the device into host memory and seen by a later launch or call: the
// report comes late, as everything that runs asynchronously, but the device goes on.
#include "litz/codegen/backend.h"
#include "litz/codegen/triton/worker_pool.h"

namespace litz::cuda {

/// Whether kernels may make tensor descriptors: of the hardware, and memory of PyTorch's to hold them. Without a driver: on paper.
bool has_tensor_descriptors();

/// Needs the driver. `target` is what the source is compiled for.
Result<CompiledKernel> load_kernel(const KernelBinary& binary, const std::string& source, const std::string& target);

}  // namespace litz::cuda
