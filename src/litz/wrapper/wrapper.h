#pragma once
// Wrapper IR: what happens in a call of the compiled graph, line by line. Typed lines only, no raw text; consumers (executor, C++,
// Python and FX emitters) each read all of them. Tensors are numbered; numbers are expressions over the symbols of the call.
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "litz/codegen/backend.h"
#include "litz/loop/host_tensor.h"
#include "litz/loop/program.h"

namespace litz {

using TensorId = int32_t;

struct WrapperTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  Device device;
  std::vector<Expr> sizes, strides;  // elements
  Expr offset;                       // elements from the start of the storage; null means 0
};

struct CommentLine {
  std::string text;
};
struct AllocateLine {
  TensorId tensor;
  bool escapes;
};
struct DataLine {
  TensorId tensor;
  int32_t data;
};  // index into WrapperProgram::data
struct ArenaLine {
  int32_t arena;
  Expr bytes;
  Device device;
};
struct PlaceLine {
  TensorId tensor;
  int32_t arena;
  Expr byte_offset;
};
struct ReinterpretLine {
  TensorId tensor, base;
};  // the tensor's offset counts from the start of the base's storage
struct FreeLine {
  TensorId tensor;
};
struct KernelCallLine {
  int32_t kernel;  // index into WrapperProgram::kernels
  std::vector<TensorId> tensors;
  std::vector<Expr> numbers;
  Expr range, grain;
  Expr scratch_bytes;  // per thread; null for none
};
struct WrapperArgument;
using WrapperArgumentList = std::vector<WrapperArgument>;
struct TensorRef {
  TensorId id;
};
struct WrapperArgument : std::variant<None, bool, int64_t, double, std::complex<double>, Expr, std::string, DType, Device, MemoryFormat,
                                      TensorRef, WrapperArgumentList> {
  using variant::variant;
};
struct ExternCallLine {
  const OpSchema* callee = nullptr;
  std::vector<WrapperArgument> arguments;  // every argument of the schema
  std::vector<TensorId> results;
  std::vector<Expr> number_results;  // symbols
  bool in_float32 = false;           // a product of narrow floats that is computed in float32 (Target::product_type)
};
struct ReadNumberLine {
  enum Kind : uint8_t { kSize, kStride, kStorageOffset } kind = kSize;
  Expr symbol;
  TensorId tensor = 0;
  int dimension = 0;
};
struct AssertLine {
  Expr condition;
  std::string message;
};
struct CopyLine {
  TensorId destination, source;
};

template <typename, typename... Lines>
using LineOneOf = std::variant<Lines...>;
using WrapperLine = LineOneOf<void
#define LITZ_LINE(name, Enumerator, meaning) , Enumerator##Line
#include "litz/wrapper/ops.def"
#undef LITZ_LINE
                              >;
/// The name in ops.def.
std::string_view line_name(const WrapperLine& line);

struct WrapperKernel {
  std::string name;
  KernelSource source;
  CompiledKernel compiled;
  std::vector<std::string> messages;  // of its assertions
  bool reports_errors = false;
};

/// What the caller passes at one position.
struct WrapperInput {
  TensorId tensor = -1;  // -1: a number
  Expr number;           // the symbol it defines, or the expression that it must equal
};

struct WrapperOutput {
  struct Input {
    int position;
  };  // the very object that was passed
  std::variant<None, TensorRef, Input, Expr, int64_t, double, bool> value;
};

struct WrapperProgram {
  std::string name;
  std::shared_ptr<ExprContext> context;
  std::vector<std::unique_ptr<OpSchema>> schemas;  // of callees that the graph itself does not name
  std::vector<WrapperTensor> tensors;
  std::vector<WrapperInput> inputs;
  std::vector<std::string> constants;  // tensors stored with the graph, passed behind the inputs: names in the graph
  std::vector<TensorId> constant_tensors;
  std::vector<HostTensor> data;  // row-major tensors that the program brings itself
  std::vector<WrapperKernel> kernels;
  std::vector<WrapperLine> lines;
  std::vector<WrapperOutput> outputs;
};

void verify(const WrapperProgram& program);
/// Complete but for the kernels' sources, which are text of their own: parse_wrapper gives a program that prints and runs the same.
std::string to_text(const WrapperProgram& program);
/// UserError with line and column where the text is none.
std::unique_ptr<WrapperProgram> parse_wrapper(std::string_view text);

}  // namespace litz
