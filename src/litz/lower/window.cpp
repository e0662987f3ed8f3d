#include "litz/lower/window.h"

namespace litz {

std::array<int64_t, 2> two_of(const std::vector<int64_t>& given, std::array<int64_t, 2> missing) {
  if (given.empty()) return missing;
  return {given[0], given.size() > 1 ? given[1] : given[0]};
}

WindowPlace place_in_window(const View& self, std::span<const Expr> index, const Window& window, Expr kh, Expr kw) {
  WindowPlace p;
  p.at.assign(index.begin(), index.end());
  const size_t h = self.rank() - 2;
  p.at[h] = index[h] * window.stride[0] - window.padding[0] + kh * window.dilation[0];
  p.at[h + 1] = index[h + 1] * window.stride[1] - window.padding[1] + kw * window.dilation[1];
  p.bounds = {{p.at[h], self.sizes[h]}, {p.at[h + 1], self.sizes[h + 1]}};
  return p;
}

}  // namespace litz
