// Derivatives of slicing and indexing: what was read is written, or added, into zeros.
#include "litz/decompose/indexing.h"

namespace litz {
namespace {

Value zeros(Rewrite& r, DType dtype) { return r.b.full(r.out().sizes, int64_t{0}, dtype, r.out().device); }

Replacement slice_backward(Rewrite& r) {
  return {r.b.call("aten.slice_scatter", {zeros(r, r.out().dtype), r.tensor("grad_output"), r.argument("dim"), r.argument("start"),
                                          r.argument("end"), r.argument("step")})};
}

Replacement select_backward(Rewrite& r) {
  return {r.b.call("aten.select_scatter", {zeros(r, r.out().dtype), r.tensor("grad_output"), r.argument("dim"), r.argument("index")})};
}

Replacement diagonal_backward(Rewrite& r) {
  return {r.b.call("aten.diagonal_scatter",
                   {zeros(r, r.out().dtype), r.tensor("grad_output"), r.argument("offset"), r.argument("dim1"), r.argument("dim2")})};
}

Replacement embedding_dense_backward(Rewrite& r) {
  if (r.flag("scale_grad_by_freq")) return {};
  Value grad = r.opmath(r.tensor("grad_output"));
  const Value indices = r.tensor("indices");
  const Argument& padding = r.argument("padding_idx");
  if (!padding.is<int64_t>()) return {};
  if (padding.as<int64_t>() >= 0) grad = r.b.where(r.b.unsqueeze(r.b.eq(indices, padding), -1), 0.0, grad);
  return {r.result(r.b.call("aten.index_put", {zeros(r, grad.meta().dtype), ArgumentList{indices}, grad, true}))};
}

constexpr Decomposition kRows[] = {
    {"aten.slice_backward", slice_backward},
    {"aten.select_backward", select_backward},
    {"aten.diagonal_backward", diagonal_backward},
    {"aten.embedding_dense_backward", embedding_dense_backward},
};

}  // namespace

std::span<const Decomposition> index_backward_decompositions() { return kRows; }

}  // namespace litz
