#pragma once
// The executor's program: the wrapper IR flattened. Tensors live in numbered slots; every size, stride, offset and range of the
// program is an entry of one table of int64 that is computed once per tuple of input symbols (and remembered), so that the lines
// themselves hold only indices. Plain data: it can be written to a package.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "litz/support/dtype.h"
#include "litz/support/expr_program.h"

namespace litz::runtime {

using Slot = int32_t;        // a tensor of the call
using TableIndex = int32_t;  // an entry of the table of numbers

/// Where an input symbol is read from when the program is called.
struct SymbolSource {
  enum Kind : uint8_t { kSize, kStride, kStorageOffset, kScalarArgument } kind = kSize;
  int32_t argument = 0;  // position among the call's arguments
  int32_t dimension = 0;
};

struct DeviceId {
  int32_t type = 0;  // index into Program::device_types
  int32_t index = 0;
};

/// A strided tensor as lines see it: the numbers are in the table.
struct TensorSpec {
  DType dtype = DType::kFloat32;
  DeviceId device;
  std::vector<TableIndex> sizes, strides;
};

struct AllocLine {
  Slot slot;
  int32_t spec;
};  // through the framework's allocator; owned by the slot
struct DataLine {
  Slot slot;
  int32_t data;
  int32_t spec;
};  // the bytes of Program::data: read only
struct ArenaLine {
  Slot slot;
  TableIndex bytes;
  DeviceId device;
};  // one allocation that ArenaView lines cut up
struct ArenaViewLine {
  Slot slot;
  Slot arena;
  TableIndex byte_offset;
  int32_t spec;
};
/// Another shape on the storage of `base`, of the same element type: as_strided. The offset is in elements from base's first element.
struct ViewLine {
  Slot slot;
  Slot base;
  TableIndex offset;
  int32_t spec;
};
struct FreeLine {
  Slot slot;
};

/// A generated kernel: void kernel(void* const* pointers, const int64_t* numbers, int64_t begin, int64_t end).
/// pointers: data of `tensors` in order (storage offset applied), then this thread's scratch (64-byte aligned) if scratch_bytes is
/// not -1, then a KernelError* if reports_errors; numbers: table entries in order. Called for disjoint pieces of [0, range) of at
/// least `grain` from the framework's threads; begin == end never occurs.
struct KernelLine {
  int32_t kernel;
  std::vector<Slot> tensors;
  std::vector<TableIndex> numbers;
  TableIndex range;               // how many independent pieces of work
  TableIndex grain;               // the least number worth a thread
  TableIndex scratch_bytes = -1;  // per thread; -1 for none
  bool reports_errors = false;
  int32_t first_message = 0;  // KernelError::kAssertion + k is Program::messages[first_message + k]
  int32_t device_index = 0;   // where its tensors lie
};

/// Where a kernel says that its data broke a rule of the op (an index out of range): it stores a code, goes on with any value that
/// is safe, and the executor raises after the kernel. Any of several failures may win.
struct KernelError {
  enum Code : int64_t { kNone = 0, kIndexOutOfRange = 1, kDivisionByZero = 2, kAssertion = 16 };
  int64_t code = kNone;
  int64_t value = 0;  // the offending index
  int64_t size = 0;   // the size that it had to respect
};

struct NumberArg {
  TableIndex entry;
  bool is_float = false;
};  // a symbolic integer or, as its bits, a float
struct TensorArg {
  Slot slot;
};
struct ComplexArg {
  double real, imaginary;
};
struct MemoryFormatArg {
  int32_t torch_code;
};
struct ExternArg;
using ExternArgs = std::vector<ExternArg>;
struct ExternArg : std::variant<std::monostate, bool, int64_t, double, std::string, NumberArg, TensorArg, DType, DeviceId, ComplexArg,
                                MemoryFormatArg, ExternArgs> {
  using variant::variant;
};

/// An op of the framework. Results go to `results` (owned by their slots); out-variants write a planned tensor and have none.
struct ExternLine {
  int32_t callee;                          // index into Program::callees
  ExternArgs arguments;                    // every argument of the schema, in its order
  std::vector<Slot> results;               // -1 where a result is not used
  std::vector<TableIndex> number_results;  // table entries for integer results (item()), else empty
  /// Per result the spec that later lines assume, or -1: a result that the op laid out otherwise is copied into that layout.
  std::vector<int32_t> result_specs;
  std::optional<DType> widened_from;  // a product of this type that is computed in float32, piece by piece, and rounded once
};
/// Entries of the table that depend on integer results of extern calls are computed here: the program's symbols are the table as it
/// stands, its results go to the entries from `begin` on.
struct LaterTable {
  ExprProgram program;
  TableIndex begin = 0;
};
struct ComputeLine {
  int32_t program;
};
struct AssertLine {
  TableIndex condition;
  int32_t message;
};
/// A number of a tensor that only the run knows (the size of nonzero's result) becomes a table entry.
struct ReadNumberLine {
  enum Kind : uint8_t { kSize, kStride, kStorageOffset } kind;
  TableIndex entry;
  Slot slot;
  int32_t dimension;
};
/// Raises unless an entry that only the run knows lies where the program was compiled to have it (bounds included): conditions that
/// follow from the bounds were dropped.
struct CheckRangeLine {
  TableIndex entry;
  int64_t lower, upper;
  int32_t name;  // index into Program::messages
};
struct CopyLine {
  Slot destination;
  Slot source;
};  // as Tensor.copy_
using Line = std::variant<AllocLine, DataLine, ArenaLine, ArenaViewLine, ViewLine, FreeLine, KernelLine, ExternLine, ComputeLine,
                          AssertLine, ReadNumberLine, CheckRangeLine, CopyLine>;

struct Callee {
  std::string op;      // "aten.addmm.out"
  std::string schema;  // PyTorch's text
  bool is_mutating = false;
  bool is_random = false;
};

/// Machine code of one kernel. The owner keeps it alive (a JIT module, a loaded package).
using KernelFunction = void (*)(void* const* pointers, const int64_t* numbers, int64_t begin, int64_t end);
/// Puts `range` pieces of a device's kernel on the current stream of the device with this index, whichever device is current, and returns at
/// once. 0, or (*message says why) 1 for an error of run time, 2 for an index out of range. The kernel has its own place to report errors to.
using LaunchFunction = int (*)(void* object, int32_t device, void* const* pointers, const int64_t* numbers, int64_t range,
                               std::string* message);
struct Kernel {
  std::string name;
  KernelFunction function = nullptr;
  LaunchFunction launch = nullptr;  // instead of function
  void* object = nullptr;           // what launch takes
  std::shared_ptr<void> owner;
};

struct OutputSpec {
  enum Kind : uint8_t { kNone, kTensor, kInput, kInteger, kComputedFloat, kFloat, kBool } kind = kNone;
  int32_t index =
      0;  // slot; argument position for kInput (the very tensor object that was passed); table entry for kInteger, kComputedFloat
  double number = 0;  // kFloat, kBool
};

struct Program {
  std::string name;
  bool profile = false;  // time every line; the executor prints the sums when it goes
  int32_t argument_count = 0;
  std::vector<Slot> argument_slots;  // per argument: its slot, -1 for numbers
  /// Tensors stored with the program; they are passed behind the caller's arguments, so their slots end `argument_slots`.
  std::vector<std::string> constants;
  std::vector<std::vector<std::byte>> data;  // tensors that the program brings itself, row-major
  std::vector<std::string> device_types;
  std::vector<SymbolSource> symbols;     // symbol k of the table program
  ExprProgram table;                     // symbols -> all entries known at the start
  std::vector<LaterTable> later_tables;  // ComputeLine: entries that need results of extern calls
  int32_t table_size = 0;
  int32_t slot_count = 0;
  std::vector<TensorSpec> specs;
  std::vector<Callee> callees;
  std::vector<Kernel> kernels;
  std::vector<std::string> messages;
  std::vector<Line> lines;
  std::vector<OutputSpec> outputs;
};

/// One line of text per line of the program, for dumps and tests.
std::string to_text(const Program& program);

}  // namespace litz::runtime
