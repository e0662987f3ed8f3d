#pragma once
// The table of primitive ops, from ops.def.
#include <span>
#include <string_view>

#include "litz/graph/schema.h"

namespace litz {

enum class OpFamily : uint8_t {
  kPointwise,  // one result, each element from the elements at the same (broadcast) place
  kCast,       // conversions and copies of a whole tensor
  kReduction,
  kScan,
  kView,      // the result shares storage (schemas say so)
  kMovement,  // each element of the result is an element of an input, or a fill value
  kScatter,   // a copy of the first tensor in which some elements are replaced or combined
  kFactory,
  kPool,
  kLibrary,  // a library does it
  kMutation,
};

struct Primitive {
  std::string_view name;  // "aten.add.Tensor"
  OpFamily family;
  std::string_view schema;
  std::string_view meaning;
};

std::span<const Primitive> primitives();
/// Null for an op that is no primitive.
const Primitive* find_primitive(std::string_view op_name);

}  // namespace litz
