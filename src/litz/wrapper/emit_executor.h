#pragma once
// emit_executor: the wrapper IR as the flat program that the executor runs. Every distinct expression becomes one entry of the
// program's table of numbers.
#include "litz/runtime/program.h"
#include "litz/wrapper/wrapper.h"

namespace litz {

runtime::Program emit_executor(const WrapperProgram& wrapper);

}  // namespace litz
