#pragma once
// One kernel as C++: a function (pointers, numbers, begin, end) that runs the pieces [begin, end) of the kernel's range. Names
// are canonical (in0, out0, v3, i1), so equal kernels give equal text; what the names stand for is said in comments.
#include "litz/codegen/backend.h"

namespace litz {

Result<KernelSource> kernel_text(const Kernel& kernel);

/// The text without its comments and with the entry's name replaced: equal for kernels that may share their code.
std::string text_identity(const KernelSource& source);

}  // namespace litz
