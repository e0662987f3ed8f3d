#pragma once
// choose_products: matrix products together with what reads them. Providers name ways to compute both: the library's call followed by the
// kernel that exists anyway, and one kernel for both on tiles that the device suggests. They are measured on the device, and the
// fastest is taken; times are kept by whoever measures. Without times everything stays as it is.
//
//   extern y = aten.mm(x, w); group { z = gelu(y) }     =>     group { y = sum over r of x w; z = gelu(y) }, tiled
#include <functional>
#include <string>
#include <vector>

#include "litz/driver/compile_state.h"

namespace litz {

/// Takes a request (JSON: "device", "tensors", "candidates" of "steps"; see python/litz/measure.py) and gives
/// microseconds a candidate, in order, negative where one does not work; false if nothing can be measured.
using Measurer = std::function<bool(const std::string& request, std::vector<double>& microseconds)>;
/// Of the process; none at first.
void set_measurer(Measurer measurer);

void choose_products(CompileState& state);

}  // namespace litz
