#pragma once
// A tensor in plain memory, as tests and the reference interpreter see it: an address, sizes and strides in elements.
#include <cstddef>
#include <memory>
#include <vector>

#include "litz/loop/scalar.h"

namespace litz {

struct HostTensor {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  std::byte* data = nullptr;    // of the element at coordinates 0
  std::shared_ptr<void> owner;  // keeps the memory; null when the caller does

  /// Row-major, zeroed, of its own memory.
  static HostTensor zeros(DType dtype, std::vector<int64_t> sizes);
  int64_t numel() const;
  std::byte* address(std::span<const int64_t> coordinates) const;
  Scalar at(std::span<const int64_t> coordinates) const { return read_element(dtype, address(coordinates)); }
  void set(std::span<const int64_t> coordinates, const Scalar& value) const { write_element(convert(value, dtype), address(coordinates)); }
  /// The same elements, row-major, in memory of its own.
  HostTensor copy() const;
};

/// Calls f(coordinates) for every element of a shape, the last dimension fastest; once for a shape without dimensions.
template <typename F>
void for_each_coordinate(std::span<const int64_t> sizes, F&& f) {
  std::vector<int64_t> at(sizes.size(), 0);
  for (int64_t s : sizes)
    if (s <= 0) return;
  for (;;) {
    f(static_cast<const std::vector<int64_t>&>(at));
    size_t d = sizes.size();
    while (d > 0 && ++at[d - 1] == sizes[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace litz
