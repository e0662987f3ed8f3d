// Softmax and its relatives. A row with +inf gives NaN, as in eager; only _safe_softmax gives 0 for a row of -inf.
#include <limits>

#include "litz/decompose/decompose.h"

namespace litz {
namespace {

Value over(Rewrite& r, const char* op, Value x, int64_t dim) {
  if (x.meta().rank() == 0) return x;
  return r.b.call(op, {x, GraphBuilder::int_list({dim}), true});
}

Value shifted(Rewrite& r, Value x, int64_t dim) { return r.b.sub(x, over(r, "aten.amax", x, dim)); }

Value softmax_of(Rewrite& r, Value x, int64_t dim) {
  const Value e = r.b.call("aten.exp", {shifted(r, x, dim)});
  return r.b.div(e, over(r, "aten.sum.dim_IntList", e, dim));
}

Value input(Rewrite& r) { return r.opmath(r.tensor("self")); }

Replacement softmax(Rewrite& r) { return {r.result(softmax_of(r, input(r), r.dim("dim", r.out().rank())))}; }

Replacement log_softmax(Rewrite& r) {
  const int64_t dim = r.dim("dim", r.out().rank());
  const Value s = shifted(r, input(r), dim);
  const Value sum = over(r, "aten.sum.dim_IntList", r.b.call("aten.exp", {s}), dim);
  return {r.result(r.b.sub(s, r.b.call("aten.log", {sum})))};
}

Replacement safe_softmax(Rewrite& r) {
  const int64_t dim = r.dim("dim", r.out().rank());
  const Value x = r.opmath(r.b.to(r.tensor("self"), r.out().dtype));
  const Value masked = over(r, "aten.all.dims", r.b.eq(x, -std::numeric_limits<double>::infinity()), dim);
  return {r.result(r.b.where(masked, 0.0, softmax_of(r, x, dim)))};
}

Replacement softmax_backward(Rewrite& r) {
  const int64_t dim = r.dim("dim", r.out().rank());
  const Value grad = r.opmath(r.tensor("grad_output")), y = r.opmath(r.tensor("output"));
  const Value sum = over(r, "aten.sum.dim_IntList", r.b.mul(grad, y), dim);
  return {r.result(r.b.mul(y, r.b.sub(grad, sum)))};
}

Replacement log_softmax_backward(Rewrite& r) {
  const int64_t dim = r.dim("dim", r.out().rank());
  const Value grad = r.opmath(r.tensor("grad_output")), y = r.opmath(r.tensor("output"));
  const Value sum = over(r, "aten.sum.dim_IntList", grad, dim);
  return {r.result(r.b.sub(grad, r.b.mul(r.b.call("aten.exp", {y}), sum)))};
}

constexpr Decomposition kRows[] = {
    {"aten._softmax", softmax},
    {"aten._log_softmax", log_softmax},
    {"aten._safe_softmax", safe_softmax},
    {"aten._softmax_backward_data", softmax_backward},
    {"aten._log_softmax_backward_data", log_softmax_backward},
};

}  // namespace

std::span<const Decomposition> softmax_decompositions() { return kRows; }

}  // namespace litz
