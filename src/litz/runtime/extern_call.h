#pragma once
// The two native ways to call an op. Each takes an extern line at preparation and says whether it can carry it.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "litz/runtime/framework.h"
#include "litz/runtime/typed_functions.h"

namespace litz::runtime {

/// A native call: 0, or torch's error code.
using NativeCall = std::function<int(CallFrame&)>;

/// A function of torch's C interface with the meaning of this op, or empty.
NativeCall typed_call(const TorchApi& api, const Program& program, const ExternLine& line);

/// For lines that ask for it: the call with its operands widened to float32 piece by piece, so that little memory is used, and each
/// result rounded once. `narrow` is the op itself, for what has no elements and for arguments that have no such form.
NativeCall product_in_float32(const TypedFunctions& functions, const Program& program, const ExternLine& line, NativeCall narrow);

/// The stable dispatcher call, or empty with *reason: some argument types do not cross it.
NativeCall dispatcher_call(const TorchApi& api, const Program& program, const ExternLine& line, std::string* reason);

/// The types in a schema's text: "Tensor", "int[]", "Tensor?[]", "ScalarType?"; alias marks and list lengths left out.
struct SchemaTypes {
  std::vector<std::string> arguments, returns;
};
SchemaTypes schema_types(const std::string& schema);

}  // namespace litz::runtime
