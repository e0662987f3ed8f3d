#pragma once
// Inputs with many ties, and NaN and -inf where asked for.
#include <limits>

#include "litz/loop/reference_interpreter.h"

namespace litz {

inline HostTensor tied_values(DType dtype, std::vector<int64_t> sizes, bool has_specials) {
  HostTensor t = HostTensor::zeros(dtype, std::move(sizes));
  uint64_t state = 3 * 2654435761u + 1;
  for_each_coordinate(t.sizes, [&](const std::vector<int64_t>& at) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto draw = static_cast<int64_t>(state >> 33) % 17 - 8;  // few values: many ties
    double value = static_cast<double>(draw) / 4;
    if (has_specials && draw == 7) value = std::numeric_limits<double>::quiet_NaN();
    if (has_specials && draw == -8) value = -std::numeric_limits<double>::infinity();
    t.set(at, is_floating(dtype) ? scalar_of(dtype, value) : scalar_of(dtype, draw));
  });
  return t;
}

}  // namespace litz
