#pragma once
// PyTorch's type promotion.
#include <span>

#include "litz/graph/graph.h"

namespace litz {

/// torch.result_type of tensors and numbers: tensors with dimensions decide, then tensors without, then numbers; a lower class
/// counts only if its category (bool, integer, float, complex) is higher. None and other arguments count for nothing.
DType result_type(std::span<const Argument> operands);
/// Integers and bools give the default float type.
DType float_result_type(DType type);
/// complex64 -> float32 and so on; other types are themselves.
DType real_type(DType type);

}  // namespace litz
