#pragma once
// Types and literals as generated C++ spells them.
#include <string>

#include "litz/loop/body.h"

namespace litz {

/// The type of an element in memory: "float", "bf16", "i64", ... Null where kernels have none (complex numbers).
const char* cpp_element_type(DType dtype);
/// The type of a value in a register: narrow floats are float.
const char* cpp_value_type(DType dtype);
/// A number as a literal of cpp_value_type(dtype).
std::string cpp_literal(const Number& number, DType dtype);
/// Text for a comment: one line, no way out of it.
std::string cpp_comment(std::string_view text);

}  // namespace litz
