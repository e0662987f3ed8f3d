// libFuzzer's entry: an exception that leaves fuzz_one ends the process as a failed check does.
#include "fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  litz::fuzz_one({data, size});
  return 0;
}
