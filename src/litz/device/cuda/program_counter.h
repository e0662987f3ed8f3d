#pragma once
// Where the programs of a launch count themselves (KernelBinary::counts_programs): an int32 on the device that is 0 between launches, since
// the program that comes last sets it back. Two launches may have the same counter if one cannot begin before the other ends: those of one
// stream do. A launch that is recorded may be replayed on any stream and has a counter of its own, for as long as the process lives;
// replays of one recording follow each other.
#include "litz/support/check.h"

namespace litz::cuda {

/// For a launch on this stream of the device with this index, which is the current one.
Result<void*> program_counter(int device, void* stream);

}  // namespace litz::cuda
