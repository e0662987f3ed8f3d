// Conversions and copies. A conversion of the imported graph stays one: the node is marked imported.
#include "litz/decompose/decompose.h"

namespace litz {
namespace {

/// A cast that the user (or autocast) wrote.
Value kept_cast(Rewrite& r, Value x, DType dtype) {
  if (x.meta().dtype == dtype) return x;
  const Value y = r.b.to(x, dtype);
  y.node->is_imported = true;
  return y;
}

Replacement clone(Rewrite& r) { return {r.b.call("aten.clone", {r.tensor(r.node.op->arguments[0].name)})}; }

/// Within one device a change of type or a copy; between devices the op stays.
Replacement to_copy(Rewrite& r) {
  const Value x = r.tensor("self");
  if (!(x.meta().device == r.out().device)) return {};
  if (r.has("layout") && r.text("layout") != "strided") return {};
  if (x.meta().dtype == r.out().dtype) return clone(r);
  return {kept_cast(r, x, r.out().dtype)};
}

/// The values of src in the shape, type and layout of self.
Replacement copy(Rewrite& r) {
  const Value src = r.tensor("src");
  if (!(src.meta().device == r.out().device)) return {};
  return {r.b.call("aten.clone", {r.b.expand(kept_cast(r, src, r.out().dtype), r.out().sizes)})};
}

constexpr Decomposition kRows[] = {
    {"aten._to_copy", to_copy},
    {"aten.copy", copy},
    {"aten.lift_fresh_copy", clone},
    {"aten.lift", clone},
};

}  // namespace

std::span<const Decomposition> cast_decompositions() { return kRows; }

}  // namespace litz
