#include <algorithm>

#include "litz/support/check.h"
#include "litz/symbolic/expr.h"

namespace litz {

Expr flatten(ExprContext& context, std::span<const Expr> coordinates, std::span<const Expr> sizes) {
  LITZ_CHECK(coordinates.size() == sizes.size(), "{} coordinates in a shape of {} sizes", coordinates.size(), sizes.size());
  Expr stride = context.integer(1);
  std::vector<Expr> terms;
  for (size_t i = sizes.size(); i-- > 0;) {
    terms.push_back(coordinates[i] * stride);
    if (i > 0) stride = stride * sizes[i];
  }
  return sum(context, terms);
}

std::vector<Expr> unflatten(Expr position, std::span<const Expr> sizes) {
  const auto none = std::ranges::find_if(sizes, [](Expr size) { return size.is_integer(0); });
  if (none != sizes.end()) return std::vector(sizes.size(), *none);  // no element has a position
  std::vector<Expr> coordinates(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    // The outermost coordinate needs no mod: the position lies in the shape.
    coordinates[i] = i == 0 ? position : mod(position, sizes[i]);
    if (i > 0) position = floor_div(position, sizes[i]);
  }
  return coordinates;
}

}  // namespace litz
