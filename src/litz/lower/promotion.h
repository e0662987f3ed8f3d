#pragma once
// Element types of operands: torch.result_type, and numbers as values of a body.
#include "litz/lower/lowering.h"

namespace litz {

/// A tensor or a number in a Tensor or Scalar position.
bool is_number(const Argument& argument);
/// The number as a value of a type.
ValueId number_value(BodyBuilder& b, const Argument& argument, DType dtype);
/// As PyTorch: tensors with dimensions before tensors without before numbers, the category decides. Not complex.
DType result_type(Lowering& lowering, std::span<const Argument* const> operands);

}  // namespace litz
