#include "litz/loop/dense_strides.h"

#include <algorithm>
#include <numeric>

namespace litz {

std::vector<int> row_major_order(size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<Expr> dense_strides(ExprContext& context, std::span<const Expr> sizes, std::span<const int> order) {
  std::vector<Expr> strides(sizes.size());
  Expr step = context.integer(1);
  for (size_t k = order.size(); k-- > 0;) {
    const Expr size = sizes[order[k]];
    strides[order[k]] = step;
    step = step * (size.is_integer() ? context.integer(std::max<int64_t>(1, size.integer())) : size);
  }
  return strides;
}

}  // namespace litz
