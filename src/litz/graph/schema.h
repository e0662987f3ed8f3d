#pragma once
// An op's signature as PyTorch writes it, parsed once and interned: names, argument types, what aliases and what is written.
// "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor". The name in the IR is "aten.add.Tensor"
// (an overload named default is left out: "aten.relu").
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace litz {

enum class ArgType : uint8_t {
  kTensor,
  kScalar,  // int, float, bool or complex number
  kInt,
  kSymInt,
  kFloat,
  kBool,
  kComplex,
  kString,
  kDType,
  kDevice,
  kLayout,
  kMemoryFormat,
  kGenerator,
  kOther,
};

struct SchemaArgument {
  std::string name;
  ArgType type = ArgType::kOther;
  bool is_list = false;
  int list_size = 0;                   // int[2]: 2, a single number stands for that many; 0: any length
  bool is_optional = false;            // the argument (or, for a list, the list)
  bool has_optional_elements = false;  // Tensor?[]
  bool is_kwarg_only = false;
  bool has_default = false;
  std::string default_text;  // as written in the schema
  std::string alias_set;     // "" or "a"
  bool is_written = false;   // (a!)
  std::string type_text;
};

struct SchemaReturn {
  ArgType type = ArgType::kTensor;
  bool is_list = false;
  std::string alias_set;
  bool is_written = false;
  std::string type_text;
};

struct OpSchema {
  std::string name;  // "aten.add.Tensor"
  std::string text;  // the whole schema as PyTorch writes it
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaReturn> returns;
  bool is_mutating = false;  // any argument is written
  bool is_view = false;      // a return aliases an argument without a write
  bool is_random = false;    // draws from a generator: order must be kept (PyTorch's tag nondeterministic_seeded)
  bool has_effect = false;   // must run even if unused, in order (prints, tokens, checks): ops without results, and a few

  int argument_index(std::string_view argument) const;  // -1 if there is none
};

/// Parses PyTorch's text. Throws UserError with the position.
std::unique_ptr<OpSchema> parse_schema(std::string_view text);
/// "aten::add.Tensor" or "aten.add.default" -> "aten.add.Tensor", "aten.add".
std::string canonical_op_name(std::string_view name);

}  // namespace litz
