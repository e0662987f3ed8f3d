#pragma once
// The functions of torch's C interface that take typed arguments: where they are, their types, and lists of numbers as they take them.
#include <cstdint>
#include <string>
#include <string_view>

#include "litz/runtime/executor.h"
#include "litz/runtime/torch_api.h"

namespace litz::runtime {

/// Those of one device type: in the library that torch's interface is read from, or in the type's own.
struct TypedFunctions {
  const TorchApi& api;
  std::string device;

  /// aoti_torch_<device>_<op>, or null.
  template <typename F>
  F find(std::string_view op) const {
    return reinterpret_cast<F>(find_address(op));
  }

 private:
  void* find_address(std::string_view op) const;
};

/// (out, a, b)
using TwoIntoOut = int (*)(TensorHandle, TensorHandle, TensorHandle);
/// (out, self, a, b, beta, alpha)
using ThreeIntoOut = int (*)(TensorHandle, TensorHandle, TensorHandle, TensorHandle, double, double);
/// (input, weight, bias?, stride, padding, dilation, transposed, output padding, groups, result); lists are a pointer and a length.
using Convolution = int (*)(TensorHandle, TensorHandle, TensorHandle*, const int64_t*, int64_t, const int64_t*, int64_t, const int64_t*,
                            int64_t, int32_t, const int64_t*, int64_t, int64_t, TensorHandle*);

/// A list of at most four numbers, some of which only the call knows.
struct ShortList {
  int64_t values[4] = {};
  int64_t size = 0;
  static bool fits(const ExternArg& argument);
  /// Of an argument that fits.
  ShortList(const ExternArg& argument, CallFrame& frame);
};

}  // namespace litz::runtime
