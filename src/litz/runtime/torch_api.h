#pragma once
// What PyTorch exports in C, looked up in the running process: no header and no link-time dependency, so one build serves torch 2.11
// and later. Signatures are those of torch/csrc/inductor/aoti_torch/c/shim.h and torch/csrc/stable/c/shim.h. Tensor handles are
// owned references to at::Tensor; functions return 0 on success.
#include <cstdint>
#include <memory>
#include <string>

#include "litz/support/check.h"

namespace litz::runtime {

using TensorHandle = void*;
using ParallelBody = void (*)(int64_t begin, int64_t end, void* context);

// name, result, arguments: in every torch that Litz supports.
#define LITZ_TORCH_FUNCTIONS(X)                                                                                           \
  X(aoti_torch_empty_strided, int, (int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t, TensorHandle*))   \
  X(aoti_torch_create_tensor_from_blob, int,                                                                              \
    (void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t, TensorHandle*))                  \
  X(aoti_torch__reinterpret_tensor, int, (TensorHandle, int64_t, const int64_t*, const int64_t*, int64_t, TensorHandle*)) \
  X(aoti_torch_delete_tensor_object, int, (TensorHandle))                                                                 \
  X(aoti_torch_new_tensor_handle, int, (TensorHandle, TensorHandle*))                                                     \
  X(aoti_torch_get_data_ptr, int, (TensorHandle, void**))                                                                 \
  X(aoti_torch_get_dim, int, (TensorHandle, int64_t*))                                                                    \
  X(aoti_torch_get_sizes, int, (TensorHandle, int64_t**))                                                                 \
  X(aoti_torch_get_strides, int, (TensorHandle, int64_t**))                                                               \
  X(aoti_torch_get_storage_offset, int, (TensorHandle, int64_t*))                                                         \
  X(aoti_torch_copy_, int, (TensorHandle, TensorHandle, int32_t))                                                         \
  X(aoti_torch_grad_mode_is_enabled, bool, ())                                                                            \
  X(aoti_torch_grad_mode_set_enabled, void, (bool))                                                                       \
  X(torch_call_dispatcher, int, (const char*, const char*, uint64_t*, uint64_t))                                          \
  X(torch_new_list_reserve_size, int, (size_t, void**))                                                                   \
  X(torch_list_push_back, int, (void*, uint64_t))                                                                         \
  X(torch_list_size, int, (void*, size_t*))                                                                               \
  X(torch_list_get_item, int, (void*, size_t, uint64_t*))                                                                 \
  X(torch_delete_list, int, (void*))                                                                                      \
  X(torch_new_string_handle, int, (const char*, size_t, void**))                                                          \
  X(torch_parallel_for, int, (int64_t, int64_t, int64_t, ParallelBody, void*))                                            \
  X(torch_get_thread_idx, int, (uint32_t*))                                                                               \
  X(torch_get_num_threads, int, (uint32_t*))

// In later versions only; null where absent.
#define LITZ_TORCH_NEWER_FUNCTIONS(X)                            \
  X(aoti_torch_is_defined, int, (TensorHandle, bool*))           \
  X(torch_exception_get_what_without_backtrace, const char*, ()) \
  X(torch_new_stable_ivalue, int, (uint64_t**))                  \
  X(torch_delete_stable_ivalue, int, (uint64_t*))

struct TorchApi {
#define LITZ_DECLARE(name, result, arguments) result(*name) arguments = nullptr;
  LITZ_TORCH_FUNCTIONS(LITZ_DECLARE)
  LITZ_TORCH_NEWER_FUNCTIONS(LITZ_DECLARE)
#undef LITZ_DECLARE
  void* library = nullptr;
  /// The version of the stable interface that Litz is written against, as torch_call_dispatcher wants it: 2.11.
  static constexpr uint64_t kInterfaceVersion = (uint64_t{2} << 56) | (uint64_t{11} << 48);

  /// Another exported function, or null.
  void* find(const char* name) const;
  /// torch's number for a device type; -1 if it has none.
  int32_t device_type(const std::string& name) const;
  /// `path`: of libtorch_cpu.so, already loaded by the process.
  static Result<std::unique_ptr<TorchApi>> load(const std::string& path);
};

}  // namespace litz::runtime
