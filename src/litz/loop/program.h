#pragma once
// Loop IR: what a graph becomes after lowering. A LoopProgram is a list of operations in SSA order; each defines one or more
// buffers as a function of coordinates. Layouts are objects on buffers and stay open until decide_layouts.
//
// Semantics: operation k may read buffers that operations before k define, and inputs. A buffer is written by one operation, at
// every coordinate (scatter: at some, over a given initial version). A mutation defines a new version of a buffer; versions share
// storage only once assign_storage has shown that they may.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "litz/graph/graph.h"
#include "litz/loop/body.h"

namespace litz {

struct Operation;

enum class LayoutKind : uint8_t {
  kFlexible,  // decide_layouts chooses
  kStrided,   // decided (or exact from the start: inputs, promised outputs)
  kAlias,     // a strided view of another buffer's storage: base, offset
};

struct Layout {
  LayoutKind kind = LayoutKind::kFlexible;
  std::vector<Expr> strides;  // elements; decided kinds
  Expr offset;                // elements from the storage's start; null means 0
  Buffer* base = nullptr;     // kAlias
  /// kFlexible: the order wanted by a use or by the producer, outermost dimension first; empty means row-major.
  std::vector<int> wanted_order;
  bool order_is_binding = false;  // wanted_order is a demand of an extern call, not a wish
};

enum class BufferKind : uint8_t { kInput, kConstant, kComputed };

struct Buffer {
  int id = 0;
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<Expr> sizes;
  Device device;
  BufferKind kind = BufferKind::kComputed;
  Layout layout;
  Operation* definition = nullptr;  // kComputed
  int definition_output = 0;
  Buffer* version_of = nullptr;  // this buffer is what that one becomes by a mutation
  bool is_promised = false;      // strides are eager's: a graph output or mutated input
  bool escapes = false;          // returned to the caller: own allocation, never the arena
  const Node* source = nullptr;
};

enum class OperationKind : uint8_t {
  kPointwise,  // body yields one value per output buffer, at coordinates = axes
  kReduction,  // body yields the values to combine; outputs are indexed by the first `rank` axes
  kScan,       // along one axis, inclusive
  kScatter,    // body yields the value; written at scatter_coordinates over scatter_base
  kExtern,     // a library or dispatcher call
};

enum class ReductionKind : uint8_t { kSum, kProd, kMin, kMax, kAny, kAll, kXorSum, kArgMin, kArgMax, kMinWithIndex, kMaxWithIndex, kWelford, kLogSumExp };

/// How many values the body yields and how many buffers come out, the identity, and whether the order of combining matters:
/// one exhaustive table in reduction.cpp.
struct ReductionTraits {
  int inputs;   // arg-reductions: value and logical index
  int outputs;  // kWelford: mean and m2 (sum of squared deviations); kMinWithIndex: value and index
  bool is_associative;
};
const ReductionTraits& reduction_traits(ReductionKind kind);
std::string_view reduction_name(ReductionKind kind);
/// The value that changes nothing. Checked: not every kind has one for every type (arg-reductions of an empty range raise in eager).
Number reduction_identity(ReductionKind kind, DType dtype);

enum class ScatterMode : uint8_t { kStore, kAdd, kMul, kMin, kMax };

/// An argument of an extern call: a tensor (buffer seen through a strided view), a number, an expression, or nested lists.
struct ExternTensor {
  Buffer* buffer = nullptr;
  /// The view's axes, and the buffer's coordinates as expressions over them. Identity for a whole buffer.
  std::vector<Expr> axes;
  std::vector<Expr> coordinates;
  std::vector<Expr> sizes;
  /// Strides that the callee demands, outermost first; empty means any.
  std::vector<Expr> required_strides;
  DType dtype = DType::kFloat32;
};
struct ExternArgument;
using ExternArgumentList = std::vector<ExternArgument>;
struct ExternArgument : std::variant<None, bool, int64_t, double, std::complex<double>, Expr, std::string, DType, Device, MemoryFormat, ExternTensor,
                                     ExternArgumentList> {
  using variant::variant;
};

struct Operation {
  int id = 0;
  OperationKind kind = OperationKind::kPointwise;
  std::string name;              // stable, from the source op
  std::vector<Buffer*> outputs;
  /// Iteration space: output dimensions first, then (kReduction) the reduced ones. Each is a symbol whose extent is the size.
  std::vector<Expr> axes;
  int rank = 0;                  // axes[0, rank) index the outputs
  Body body;
  ReductionKind reduction = ReductionKind::kSum;
  DType accumulate = DType::kFloat32;  // type in which a reduction or scan combines
  int scan_axis = 0;
  std::vector<Expr> scatter_coordinates;
  ScatterMode scatter_mode = ScatterMode::kStore;
  Buffer* scatter_base = nullptr;  // what elements that are not written keep
  // kExtern
  const OpSchema* callee = nullptr;
  std::vector<ExternArgument> arguments;
  bool writes_planned_output = false;  // the out-variant is called on a buffer of the plan
  std::vector<const Node*> sources;    // ops it came from, for comments and reports
};

struct ProgramOutput {
  std::variant<None, ExternTensor, Expr, int64_t, double, bool> value;
};

/// What the report counts: an op that went to the dispatcher because no lowering takes it, and why.
struct FallbackNote {
  std::string op;
  std::string reason;
};

class LoopProgram {
 public:
  explicit LoopProgram(std::shared_ptr<ExprContext> context) : context(std::move(context)) {}
  std::shared_ptr<ExprContext> context;
  std::string name;
  std::vector<Buffer*> inputs;      // tensors among the graph's inputs, in order
  std::vector<Operation*> operations;
  std::vector<ProgramOutput> outputs;
  std::vector<FallbackNote> fallbacks;

  Buffer* new_buffer(std::string_view name, DType dtype, std::vector<Expr> sizes, Device device);
  Operation* new_operation(OperationKind kind, std::string_view name);  // appended to `operations`
  std::span<const std::unique_ptr<Buffer>> buffers() const { return buffers_; }

 private:
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<std::unique_ptr<Operation>> owned_;
};

void verify(const LoopProgram& program);
std::string to_text(const LoopProgram& program);
std::unique_ptr<LoopProgram> parse_loop_program(std::string_view text);

}  // namespace litz
