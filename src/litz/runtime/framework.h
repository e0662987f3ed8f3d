#pragma once
// What the executor needs from the framework that owns the tensors: a plain table of C functions, so that the same executor runs
// under PyTorch, in a package with no framework at all, and in tests. Tensors are opaque handles; a handle that a function gives
// is owned by the caller until `release`.
//
// Functions return 0, or anything else after which `error_message` (or an exception pending in the host language) says why.
#include <cstdint>
#include <string>

#include "litz/runtime/program.h"

namespace litz::runtime {

class CallFrame;

struct Framework {
  void* context = nullptr;

  /// The framework's number for a device type, as the functions below take it; -1 if it has none.
  int32_t (*device_type)(void* context, const char* name) = nullptr;
  /// Uninitialised strided tensor; sizes may be zero; never requires gradients. dtype is PyTorch's number.
  int (*empty_strided)(void* context, int32_t rank, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t device_type,
                       int32_t device_index, void** tensor) = nullptr;
  int (*data_pointer)(void* context, void* tensor, void** data) = nullptr;
  void (*release)(void* context, void* tensor) = nullptr;
  /// Another tensor on the same storage; offset in elements from the first element of `tensor`.
  int (*as_strided)(void* context, void* tensor, int32_t rank, const int64_t* sizes, const int64_t* strides, int64_t offset,
                    void** view) = nullptr;
  /// A tensor on memory that the caller keeps alive for as long as the tensor.
  int (*from_memory)(void* context, void* data, int32_t rank, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                     int32_t device_type, int32_t device_index, void** tensor) = nullptr;
  int (*describe)(void* context, void* tensor, int32_t* rank, const int64_t** sizes, const int64_t** strides, int64_t* offset) = nullptr;
  int (*copy)(void* context, void* destination, void* source) = nullptr;
  /// A handle for what the caller passed as an argument (`CallArgument::object`).
  int (*argument_tensor)(void* context, void* object, void** tensor) = nullptr;
  /// Gives up an argument that the call owns: no later line reads it.
  void (*drop_argument)(void* context, void* object) = nullptr;

  /// Makes an extern line callable, once per compiled program; null with *reason set if there is no way to call it.
  void* (*prepare_extern)(void* context, const Program& program, const ExternLine& line, std::string* reason) = nullptr;
  /// Calls it: reads arguments from the frame, gives results to the frame.
  int (*call_extern)(void* context, void* prepared, CallFrame& frame) = nullptr;
  void (*destroy_extern)(void* context, void* prepared) = nullptr;
  /// Around a run that makes extern calls: the caller's autocast and gradient modes are switched off, and restored.
  /// `enter` returns a token for `leave`; 0 means that nothing was changed.
  int64_t (*enter_extern_mode)(void* context) = nullptr;
  void (*leave_extern_mode)(void* context, int64_t token) = nullptr;

  /// body(argument, begin, end) for disjoint pieces of [0, range), each of at least `grain`, from the framework's threads.
  void (*parallel_for)(void* context, int64_t range, int64_t grain, void (*body)(void*, int64_t, int64_t), void* argument) = nullptr;
  int32_t (*thread_count)(void* context) = nullptr;
  /// Index of the calling thread within the running parallel_for, below thread_count.
  int32_t (*thread_index)(void* context) = nullptr;

  /// Around a run that takes long: lets the host language's other threads run (the interpreter lock), and takes the lock again.
  void* (*suspend_host)(void* context) = nullptr;
  void (*resume_host)(void* context, void* token) = nullptr;

  /// Text of the last failure on this thread; never null.
  const char* (*error_message)(void* context) = nullptr;
};

}  // namespace litz::runtime
