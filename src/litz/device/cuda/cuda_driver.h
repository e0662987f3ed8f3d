#pragma once
// What Litz needs of the CUDA driver and of PyTorch's CUDA library, looked up in the running process: nothing is linked, so one
// build serves machines with and without a GPU. Types are the driver's, spelled as pointers and ints.
#include <cstddef>
#include <cstdint>
#include <string>

#include "litz/support/check.h"

namespace litz::cuda {

using Status = int;  // 0: success
using Handle = void*;

/// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  static constexpr int kCooperative = 2;
  int id = 0;
  union alignas(8) {
    int cooperative;
    char bytes[64];
  } value = {};
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Handle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchConfig, stream) == 32 && sizeof(LaunchConfig) == 56);

#define LITZ_CUDA_FUNCTIONS(X)                                                                                              \
  X(cuInit, (unsigned))                                                                                                     \
  X(cuDeviceGet, (int*, int))                                                                                               \
  X(cuDeviceGetAttribute, (int*, int, int))                                                                                 \
  X(cuDevicePrimaryCtxRetain, (Handle*, int))                                                                               \
  X(cuCtxGetCurrent, (Handle*))                                                                                             \
  X(cuCtxSetCurrent, (Handle))                                                                                              \
  X(cuCtxGetDevice, (int*))                                                                                                 \
  X(cuLibraryLoadData, (Handle*, const void*, int*, void**, unsigned, int*, void**, unsigned))                              \
  X(cuLibraryGetKernel, (Handle*, Handle, const char*))                                                                     \
  X(cuLibraryUnload, (Handle))                                                                                              \
  X(cuKernelSetAttribute, (int, int, Handle, int))                                                                          \
  X(cuLaunchKernel, (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**)) \
  X(cuLaunchKernelEx, (const LaunchConfig*, Handle, void**, void**))                                                        \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int*, Handle, int, size_t))                                               \
  X(cuMemHostAlloc, (void**, size_t, unsigned))                                                                             \
  X(cuMemAlloc_v2, (uint64_t*, size_t))                                                                                     \
  X(cuMemsetD8Async, (uint64_t, unsigned char, size_t, Handle))                                                             \
  X(cuStreamCreate, (Handle*, unsigned))                                                                                    \
  X(cuStreamSynchronize, (Handle))                                                                                          \
  X(cuStreamDestroy_v2, (Handle))                                                                                           \
  X(cuStreamGetId, (Handle, unsigned long long*))                                                                           \
  X(cuStreamIsCapturing, (Handle, int*))                                                                                    \
  X(cuThreadExchangeStreamCaptureMode, (int*))                                                                              \
  X(cuGetErrorString, (Status, const char**))

struct Driver {
#define LITZ_DECLARE(name, arguments) Status(*name) arguments = nullptr;
  LITZ_CUDA_FUNCTIONS(LITZ_DECLARE)
#undef LITZ_DECLARE
  /// PyTorch's current stream of a device: aoti_torch_get_current_cuda_stream; null where its CUDA library is not loaded.
  int (*current_stream)(int32_t device, void** stream) = nullptr;
  /// Memory of PyTorch's caching allocator for the current stream: aoti_torch_cuda_caching_allocator_raw_alloc, _raw_delete; or null.
  int (*allocate)(uint64_t bytes, void** memory) = nullptr;
  int (*release)(void* memory) = nullptr;

  std::string text_of(Status status) const;
};

/// The driver, initialised; the reason where there is none, or one too old (libraries of kernels came with 12.0).
Result<Driver>& driver();

/// Attributes of a device that the target's facts come from (CUdevice_attribute).
enum Attribute : int {
  kMaxSharedBytesOptin = 97,
  kMultiprocessors = 16,
  kMajor = 75,
  kMinor = 76,
  kL2Bytes = 38,
  kCooperativeLaunch = 95,
};

}  // namespace litz::cuda
