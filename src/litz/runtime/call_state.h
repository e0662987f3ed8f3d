#pragma once
// What one running call owns; reused by later calls. Not part of the executor's interface.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "litz/runtime/program.h"

namespace litz::runtime {

struct SlotState {
  void* data = nullptr;    // first element
  void* tensor = nullptr;  // handle, made when somebody needs it; owned by the slot
  int32_t argument = -1;   // position, for slots of arguments
  int32_t spec = -1;       // of tensors that lines define
  Slot base = -1;          // of views and of pieces of an arena
  int64_t offset = 0;      // of views: elements from base's first
};

/// The table for one tuple of symbols.
struct Numbers {
  std::vector<int64_t> symbols;
  std::vector<int64_t> table;
  std::vector<int64_t> kernel_numbers;  // of all kernel lines, one after another
  bool is_long = false;                 // the call is worth letting other threads of the host language run
};

class CallState {
 public:
  ~CallState() { std::free(scratch); }
  std::vector<SlotState> slots;
  std::vector<int64_t> symbols;
  std::vector<std::unique_ptr<Numbers>> known;  // most recent tuples of symbols
  size_t next_evicted = 0;
  Numbers* numbers = nullptr;
  size_t next_prepared = 0;                      // extern line that comes next
  const int64_t* next_kernel_numbers = nullptr;  // of the kernel line that comes next
  std::vector<void*> pointers;
  std::vector<int64_t> gathered;
  std::string failure;  // why a frame gave up, where no framework said so
  void* scratch = nullptr;
  size_t scratch_bytes = 0;
};

constexpr size_t kKnownTuples = 32;

}  // namespace litz::runtime
