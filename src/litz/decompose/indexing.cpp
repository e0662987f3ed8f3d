#include "litz/decompose/indexing.h"

namespace litz {

Value along(Rewrite& r, Value vector, size_t k, size_t n) {
  std::vector<Expr> sizes{vector.meta().sizes[0]};
  sizes.resize(n - k, r.constant(1));
  return r.b.reshape(vector, sizes);
}

ArgumentList index_list(Rewrite& r, size_t rank, std::span<const Value> last_dims) {
  ArgumentList list(rank - last_dims.size(), Argument(None{}));
  for (size_t k = 0; k < last_dims.size(); ++k) list.push_back(along(r, last_dims[k], k, last_dims.size()));
  return list;
}

Value gather_at(Rewrite& r, Value x, std::span<const Value> last_dims) {
  return r.b.call("aten._unsafe_index.Tensor", {x, index_list(r, x.meta().rank(), last_dims)});
}

Value accumulate_at(Rewrite& r, std::span<const Expr> sizes, std::span<const Value> last_dims, Value values) {
  const Value zeros = r.b.full(sizes, int64_t{0}, values.meta().dtype, values.meta().device);
  return r.b.call("aten._unsafe_index_put", {zeros, index_list(r, sizes.size(), last_dims), values, true});
}

}  // namespace litz
