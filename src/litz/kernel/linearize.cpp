#include "litz/kernel/linearize.h"

#include "litz/support/check.h"

namespace litz {

Place linearize(const Buffer& buffer, std::span<const Expr> coordinates, const Schedule& schedule, ExprContext& context) {
  const Layout& layout = buffer.layout;
  LITZ_CHECK(layout.kind != LayoutKind::kFlexible, "buffer {} has no decided layout", buffer.name);
  LITZ_CHECK(layout.strides.size() == coordinates.size(), "buffer {}: {} coordinates for {} strides", buffer.name, coordinates.size(),
             layout.strides.size());
  std::vector<Expr> terms;
  for (size_t d = 0; d < coordinates.size(); ++d) terms.push_back(coordinates[d] * layout.strides[d]);
  return {const_cast<Buffer*>(schedule.shared_storage(&buffer)), sum(context, terms)};
}

}  // namespace litz
