#pragma once
// Types and literals as generated Triton source spells them.
#include <string>

#include "litz/loop/body.h"

namespace litz {

/// "tl.float32"; null where kernels have none (complex numbers).
const char* triton_type(DType dtype);
/// As in a kernel's signature: "fp32", "bf16", "i64".
const char* triton_signature_type(DType dtype);
/// A number as a Python literal of that type.
std::string python_literal(const Number& number, DType dtype);
/// A scalar of that very type, where a bare literal would be given another one.
std::string typed_literal(const Number& number, DType dtype);
/// Text for a comment: one line.
std::string python_comment(std::string_view text);

}  // namespace litz
