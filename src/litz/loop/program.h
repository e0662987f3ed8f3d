#pragma once
// Loop IR: what a graph becomes after lowering. A LoopProgram is a list of operations in SSA order; each defines one or more
// buffers as a function of coordinates. Layouts are objects on buffers and stay open until decide_layouts.
//
// Semantics: operation k may read buffers that operations before k define, and inputs. A buffer is written by one operation, at
// every coordinate (scatter: at some, over a given initial version). A mutation defines a new version of a buffer; versions share
// storage only once assign_storage has shown that they may.
#include <complex>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "litz/graph/graph.h"
#include "litz/loop/body.h"
#include "litz/support/check.h"

namespace litz {

struct Operation;

enum class LayoutKind : uint8_t {
  kFlexible,  // decide_layouts chooses
  kStrided,   // decided (or exact from the start: inputs, promised outputs)
};

struct Layout {
  LayoutKind kind = LayoutKind::kFlexible;
  std::vector<Expr> strides;  // elements; decided kinds
  Expr offset;                // elements from the storage's start; null means 0
  Buffer* base = nullptr;     // of what a view op of the framework gives: the buffer whose storage it looks at
  /// kFlexible: the order wanted by a use or by the producer, outermost dimension first; empty means row-major.
  std::vector<int> wanted_order;
  /// wanted_order is a demand (a reshape of this buffer goes to an extern call as a view): dense strides in that order, or the
  /// pass that decides otherwise inserts a copy before that call.
  bool order_is_binding = false;
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
  bool is_absent = false;        // the extern call gives None here: nothing reads it
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

enum class ReductionKind : uint8_t {
  kSum,
  kProd,
  kMin,
  kMax,
  kAny,
  kAll,
  kXorSum,
  kArgMin,
  kArgMax,
  kMinWithIndex,
  kMaxWithIndex,
  kWelford,
  kLogSumExp,
  kSort,  // of scans alone: values and their logical indices in order; of equal ones the earlier first, NaN the largest
  kSortDescending
};
constexpr int kReductionKinds = 15;
constexpr bool is_sort(ReductionKind kind) { return kind == ReductionKind::kSort || kind == ReductionKind::kSortDescending; }

/// How many values the body yields and how many buffers come out, the identity, and whether the order of combining matters:
/// one exhaustive table in reduction.cpp.
struct ReductionTraits {
  std::string_view name;
  int inputs;  // arg-reductions and sorts: value and logical index
  /// kWelford: mean and m2 (sum of squared deviations); kMinWithIndex: value and index; kLogSumExp: the maximum (0 where it is
  /// infinite, so that nothing below is NaN without cause) and the sum of exp(value - that); a scan of it has one output, the
  /// logarithm of the running sum.
  int outputs;
  bool is_associative;  // as real numbers; floats round differently in another order
  bool is_exact;        // any order of combining gives the same bits
};
const ReductionTraits& reduction_traits(ReductionKind kind);
std::string_view reduction_name(ReductionKind kind);
std::optional<ReductionKind> parse_reduction(std::string_view name);
/// The value that changes nothing. Checked: not every kind has one for every type (arg-reductions of an empty range raise in eager).
/// Arg-reductions, kMinWithIndex and sorts: of their value; the index that goes with it is kNoIndex, which loses every tie.
Number reduction_identity(ReductionKind kind, DType dtype);
constexpr int64_t kNoIndex = std::numeric_limits<int64_t>::max();
/// Ties: the lower index wins in a reduction, the later one in a scan (as eager's cummax). NaN wins against every number, the
/// first NaN in a reduction.

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
struct ExternArgument : std::variant<None, bool, int64_t, double, std::complex<double>, Expr, std::string, DType, Device, MemoryFormat,
                                     ExternTensor, ExternArgumentList> {
  using variant::variant;
};

struct Operation {
  int id = 0;
  OperationKind kind = OperationKind::kPointwise;
  std::string name;  // stable, from the source op
  std::vector<Buffer*> outputs;
  std::vector<Expr> symbol_outputs;  // kExtern: integers that the call gives (item()): symbols, known from here on
  /// Iteration space: output dimensions first, then (kReduction) the reduced ones. Each is a symbol whose extent is the size.
  std::vector<Expr> axes;
  int rank = 0;  // axes[0, rank) index the outputs
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
  std::vector<Buffer*> inputs;                          // tensors among the graph's inputs, in order
  std::vector<std::variant<Buffer*, Expr>> parameters;  // all of the graph's inputs, in order: tensors, and sizes as expressions
  std::vector<Operation*> operations;
  std::vector<ProgramOutput> outputs;
  /// What each written input must hold at the end. The last version shares the input's storage or is copied back into it.
  struct Mutation {
    Buffer* input;
    Buffer* last_version;
  };
  std::vector<Mutation> mutations;
  std::vector<FallbackNote> fallbacks;

  /// The name is made unique.
  Buffer* new_buffer(std::string_view name, DType dtype, std::vector<Expr> sizes, Device device);
  Operation* new_operation(OperationKind kind, std::string_view name);  // appended to `operations`
  /// Makes the operation the definition of these buffers.
  void set_outputs(Operation* operation, std::vector<Buffer*> outputs);
  std::span<const std::unique_ptr<Buffer>> buffers() const { return buffers_; }
  /// A copy that lives as long as the program.
  const OpSchema* schema(const OpSchema& schema);
  std::span<const std::unique_ptr<OpSchema>> schemas() const { return schemas_; }

 private:
  std::string unique_name(std::string_view stem);
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<std::unique_ptr<Operation>> owned_;
  std::vector<std::unique_ptr<OpSchema>> schemas_;
  std::unordered_map<std::string, int> names_;
};

/// The first version of a mutated buffer: an input, a constant or a computed buffer.
inline Buffer* first_version(Buffer* buffer) {
  while (buffer->version_of) buffer = buffer->version_of;
  return buffer;
}
/// The whole of a buffer as an argument or output.
ExternTensor whole(ExprContext& context, Buffer* buffer);
/// Calls f(ExternTensor&) for every tensor of an argument, lists included.
template <typename A, typename F>
void for_each_tensor(A& argument, F&& f) {
  if (auto* t = std::get_if<ExternTensor>(&argument)) f(*t);
  if (auto* list = std::get_if<ExternArgumentList>(&argument))
    for (auto& a : *list) for_each_tensor(a, f);
}

/// Postcondition of lowering and of every pass on loop IR; throws InternalError that names the operation.
void verify(const LoopProgram& program);
/// Text form, complete but for sources and notes: parse_loop_program(to_text(p)) prints the same.
std::string to_text(const LoopProgram& program);
std::string to_text(const Operation& operation);
std::unique_ptr<LoopProgram> parse_loop_program(std::string_view text);

}  // namespace litz
