#include "litz/loop/host_tensor.h"

#include <cstring>

namespace litz {

HostTensor HostTensor::zeros(DType dtype, std::vector<int64_t> sizes) {
  HostTensor t;
  t.dtype = dtype;
  t.sizes = std::move(sizes);
  t.strides.assign(t.sizes.size(), 1);
  for (size_t d = t.sizes.size(); d-- > 1;) t.strides[d - 1] = t.strides[d] * std::max<int64_t>(t.sizes[d], 1);
  auto memory = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(std::max<int64_t>(t.numel(), 1) * dtype_bytes(dtype)));
  t.data = memory->data();
  t.owner = memory;
  return t;
}

int64_t HostTensor::numel() const {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

std::byte* HostTensor::address(std::span<const int64_t> coordinates) const {
  int64_t offset = 0;
  for (size_t d = 0; d < coordinates.size(); ++d) offset += coordinates[d] * strides[d];
  return data + offset * dtype_bytes(dtype);
}

HostTensor HostTensor::copy() const {
  HostTensor result = zeros(dtype, sizes);
  for_each_coordinate(sizes, [&](const std::vector<int64_t>& at) {
    std::memcpy(result.address(at), address(at), static_cast<size_t>(dtype_bytes(dtype)));
  });
  return result;
}

}  // namespace litz
