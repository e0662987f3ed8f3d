#pragma once
// Runs a LoopProgram on plain memory, element by element, in the order of the text: the meaning of loop IR, against which
// schedules, generated code and eager are compared. Slow and simple. Floats are combined by reductions in double and rounded once
// to the reduction's type, so that no order of combining is preferred.
#include <functional>
#include <unordered_map>

#include "litz/loop/host_tensor.h"
#include "litz/loop/program.h"

namespace litz {

struct HostArgument;
using HostArgumentList = std::vector<HostArgument>;
struct HostArgument : std::variant<None, bool, int64_t, double, std::complex<double>, std::string, DType, Device, MemoryFormat, HostTensor,
                                   HostArgumentList> {
  using variant::variant;
};

/// What an extern operation gives: its tensors and its integers.
struct ExternResult {
  std::vector<HostTensor> tensors;
  std::vector<int64_t> symbols;
};
/// Runs an extern operation. Without one, the mm family and nothing else is taken.
using ExternRunner = std::function<ExternResult(const Operation&, const std::vector<HostArgument>&)>;

struct ReferenceInputs {
  /// In the order of LoopProgram::parameters: tensors, and integers for sizes.
  std::vector<std::variant<HostTensor, int64_t>> parameters;
  std::unordered_map<std::string, HostTensor> constants;  // by buffer name
};

struct ReferenceOutputs {
  std::vector<HostArgument> outputs;  // tensors are row-major copies
  /// Final contents of written inputs, as copies: the inputs themselves are left alone.
  std::vector<std::pair<size_t, HostTensor>> mutations;  // position among parameters
};

/// Throws UserError where the program raises (index out of range, failed assert, integer division by zero) and for an extern
/// operation that nobody takes.
ReferenceOutputs run_reference(const LoopProgram& program, const ReferenceInputs& inputs, const ExternRunner& externs = {});

/// The mm family on host tensors, in double; nullopt for another op.
std::optional<ExternResult> run_matrix_product(const Operation& operation, const std::vector<HostArgument>& arguments);

/// An expression's value; throws InternalError at a symbol without one.
int64_t evaluate(Expr expr, const std::unordered_map<Expr, int64_t>& values);

}  // namespace litz
