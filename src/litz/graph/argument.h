#pragma once
// Arguments of a call as text and as PyTorch's argument parser sees them.
#include <functional>
#include <string>
#include <string_view>

#include "litz/graph/graph.h"
#include "litz/support/literal_text.h"

namespace litz {

std::string device_text(const Device& device);
/// One argument as to_text(Graph) writes it.
std::string argument_text(const Argument& argument);

/// Reads what argument_text writes. What a bare word means depends on the type in the schema: bf16 is an element type where the
/// schema says ScalarType, a symbol elsewhere. Throws UserError.
struct ArgumentReader {
  ExprContext* context = nullptr;                // null: no expressions (schema defaults)
  std::function<Value(std::string_view)> value;  // "%x.1" -> value; empty: no values
  Argument read(std::string_view text, ArgType type) const;
};

/// Splits at commas outside brackets and quotes, blanks trimmed; "" gives none.
std::vector<std::string_view> split_top_level(std::string_view text);

/// What PyTorch's argument parser makes of a given argument: an int where a float is wanted becomes a float, one number where
/// int[2] is wanted becomes two, an integer expression that is constant becomes a number.
Argument coerce_argument(const SchemaArgument& type, Argument argument);

/// Whether any tensor or number among arguments or results is complex.
bool has_complex(const Node& node);

}  // namespace litz
