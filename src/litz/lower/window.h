#pragma once
// Windows over the last two dimensions: of pooling, and of convolutions that take each channel by itself.
#include <array>
#include <utility>
#include <vector>

#include "litz/lower/view.h"

namespace litz {

struct Window {
  std::array<int64_t, 2> kernel, stride, padding{0, 0}, dilation{1, 1};
};

/// The numbers for both dimensions; `missing` where none is given.
std::array<int64_t, 2> two_of(const std::vector<int64_t>& given, std::array<int64_t, 2> missing);

/// Coordinates in the input of a window's element, and the bounds within which they must be.
struct WindowPlace {
  std::vector<Expr> at;
  std::vector<std::pair<Expr, Expr>> bounds;
};
/// Of element (kh, kw) of the window of output `index`.
WindowPlace place_in_window(const View& self, std::span<const Expr> index, const Window& window, Expr kh, Expr kw);

}  // namespace litz
