#include "litz/kernel/linearize.h"

#include "litz/support/check.h"

namespace litz {

Buffer* storage_representative(const Buffer& buffer, const Schedule& schedule) {
  const Buffer* at = &buffer;
  for (int hops = 0;; ++hops) {
    LITZ_CHECK(hops < 1000, "buffer {} is a view of itself", buffer.name);
    if (at->layout.kind == LayoutKind::kAlias) {
      LITZ_CHECK(at->layout.base, "alias {} has no base", at->name);
      at = at->layout.base;
      continue;
    }
    const Buffer* shared = schedule.shared_storage(at);
    if (shared == at) return const_cast<Buffer*>(at);
    at = shared;
  }
}

Place linearize(const Buffer& buffer, std::span<const Expr> coordinates, const Schedule& schedule, ExprContext& context) {
  const Layout& layout = buffer.layout;
  LITZ_CHECK(layout.kind != LayoutKind::kFlexible, "buffer {} has no decided layout", buffer.name);
  LITZ_CHECK(layout.strides.size() == coordinates.size(), "buffer {}: {} coordinates for {} strides", buffer.name, coordinates.size(),
             layout.strides.size());
  std::vector<Expr> terms;
  for (size_t d = 0; d < coordinates.size(); ++d) terms.push_back(coordinates[d] * layout.strides[d]);
  Place place;
  place.storage = storage_representative(buffer, schedule);
  if (layout.kind == LayoutKind::kAlias) {
    if (layout.offset) terms.push_back(layout.offset);
    const Buffer* base = layout.base;
    while (base->layout.kind == LayoutKind::kAlias) base = base->layout.base;
    if (base->layout.offset) {
      LITZ_CHECK(dtype_bytes(base->dtype) == dtype_bytes(buffer.dtype) || base->layout.offset.is_integer(0),
                 "view {} of {} with another element size and an offset base", buffer.name, base->name);
      terms.push_back(-base->layout.offset);
    }
  }
  place.offset = sum(context, terms);
  return place;
}

}  // namespace litz
