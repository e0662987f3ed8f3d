// Reductions in canonical form: dims explicit, wrapped and sorted, the operand already in the type of the result (half types are
// summed in float32 by the primitive itself).
#include <cmath>
#include <limits>

#include "litz/decompose/decompose.h"

namespace litz {
namespace {

Argument list(std::span<const int64_t> dims) { return GraphBuilder::int_list(dims); }

bool keepdim(Rewrite& r) { return r.has("keepdim") && r.flag("keepdim"); }

std::vector<int64_t> dims_of(Rewrite& r, size_t rank) {
  if (r.node.op->argument_index("dim") >= 0) return r.dims("dim", rank);
  std::vector<int64_t> all(rank);
  for (size_t i = 0; i < rank; ++i) all[i] = static_cast<int64_t>(i);
  return all;
}

Expr count(Rewrite& r, const TensorMeta& m, std::span<const int64_t> dims) {
  Expr n = r.constant(1);
  for (int64_t d : dims) n = n * m.sizes[d];
  return n;
}

/// Whether the node's own arguments are those given; then it stays as it is.
bool is_canonical(Rewrite& r, std::string_view op, Value x, std::span<const int64_t> dims) {
  if (r.node.op->name != op || !(r.tensor(r.node.op->arguments[0].name) == x)) return false;
  if (r.has("dtype")) return false;
  return same_argument(r.argument("dim"), list(dims));
}

Value reduce(Rewrite& r, const char* op, Value x, std::span<const int64_t> dims, bool keep) {
  if (dims.empty()) return x;
  return r.b.call(op, {x, list(dims), keep});
}

/// The op over the dims; nothing where the node already says so.
Replacement canonical(Rewrite& r, const char* op, Value x) {
  const auto dims = dims_of(r, x.meta().rank());
  if (!dims.empty() && is_canonical(r, op, x, dims)) return {};
  return {r.result(reduce(r, op, x, dims, keepdim(r)))};
}

Replacement sum(Rewrite& r) { return canonical(r, "aten.sum.dim_IntList", r.b.to(r.tensor("self"), r.out().dtype)); }

Replacement mean(Rewrite& r) {
  if (is_complex(r.out().dtype)) return {};
  const Value x = r.b.to(r.tensor("self"), opmath_type(r.out().dtype));
  const auto dims = dims_of(r, x.meta().rank());
  const Value total = reduce(r, "aten.sum.dim_IntList", x, dims, keepdim(r));
  return {r.result(r.b.div(total, GraphBuilder::size_argument(count(r, x.meta(), dims))))};
}

Replacement nansum(Rewrite& r) {
  const Value x = r.b.to(r.tensor("self"), r.out().dtype);
  if (!is_floating(r.out().dtype)) return {r.result(reduce(r, "aten.sum.dim_IntList", x, dims_of(r, x.meta().rank()), keepdim(r)))};
  const Value clean = r.b.where(r.b.call("aten.isnan", {x}), 0.0, x);
  return {reduce(r, "aten.sum.dim_IntList", clean, dims_of(r, x.meta().rank()), keepdim(r))};
}

bool may_be_empty(Value x) {
  for (Expr e : x.meta().sizes)
    if (e.range().lower < 1) return true;
  return false;
}

Replacement amax(Rewrite& r) { return canonical(r, "aten.amax", r.tensor("self")); }
Replacement amin(Rewrite& r) { return canonical(r, "aten.amin", r.tensor("self")); }
// Of no elements eager raises.
Replacement max_all(Rewrite& r) { return may_be_empty(r.tensor("self")) ? Replacement{} : amax(r); }
Replacement min_all(Rewrite& r) { return may_be_empty(r.tensor("self")) ? Replacement{} : amin(r); }

Replacement any_or_all(Rewrite& r, const char* op) {
  // Of bytes eager gives bytes: 0 or 1.
  const Value self = r.tensor("self"), x = self.meta().dtype == DType::kUInt8 ? r.b.ne(self, int64_t{0}) : self;
  // any.dims and all.dims over an empty list reduce nothing.
  const bool nothing = r.has("dim") && r.argument("dim").is<ArgumentList>() && r.argument("dim").as<ArgumentList>().empty();
  const auto dims = nothing ? std::vector<int64_t>{} : dims_of(r, x.meta().rank());
  if (dims.empty()) return {r.result(r.b.ne(x, int64_t{0}))};
  if (is_canonical(r, op, x, dims)) return {};
  return {r.result(reduce(r, op, x, dims, keepdim(r)))};
}
Replacement any(Rewrite& r) { return any_or_all(r, "aten.any.dims"); }
Replacement all(Rewrite& r) { return any_or_all(r, "aten.all.dims"); }

Value flattened(Rewrite& r, Value x) {
  const Expr n = product(r.context(), x.meta().sizes);
  return r.b.reshape(x, std::span(&n, 1));
}

Replacement arg_reduction(Rewrite& r) {
  if (r.has("dim")) return {};
  const Value x = r.tensor("self");
  const Value index = r.b.call(r.node.op->name, {flattened(r, x), int64_t{0}, false});
  return {r.b.reshape(index, r.out().sizes)};
}

Replacement prod(Rewrite& r) {
  Value x = r.b.to(r.tensor("self"), r.out().dtype);
  if (r.node.op->argument_index("dim") < 0) return {r.result(r.b.call("aten.prod.dim_int", {flattened(r, x), int64_t{0}, false}))};
  if (x == r.tensor("self") && !r.has("dtype")) return {};
  if (x.meta().rank() == 0) return {x};
  return {r.result(r.b.call("aten.prod.dim_int", {x, r.dim("dim", x.meta().rank()), keepdim(r)}))};
}

Argument correction(Rewrite& r) {
  if (r.node.op->argument_index("unbiased") >= 0) return int64_t{r.flag("unbiased") ? 1 : 0};
  return r.has("correction") ? r.argument("correction") : Argument(int64_t{1});
}

/// Variance and mean in opmath over explicit dims.
Node* variance(Rewrite& r, Value x) {
  auto dims = dims_of(r, x.meta().rank());
  return r.b.node("aten.var_mean.correction", {x, list(dims), correction(r), keepdim(r)});
}

bool has_variance(Rewrite& r) { return is_floating(r.tensor("self").meta().dtype); }

Replacement var(Rewrite& r) {
  if (!has_variance(r)) return {};
  return {r.result(variance(r, r.opmath(r.tensor("self")))->value(0))};
}
Replacement standard_deviation(Rewrite& r) {
  if (!has_variance(r)) return {};
  return {r.result(r.b.call("aten.sqrt", {variance(r, r.opmath(r.tensor("self")))->value(0)}))};
}
Replacement var_mean(Rewrite& r) {
  if (!has_variance(r)) return {};
  const Value x = r.opmath(r.tensor("self"));
  if (r.node.op->name == "aten.var_mean.correction" && r.has("correction") &&
      is_canonical(r, "aten.var_mean.correction", x, dims_of(r, x.meta().rank())))
    return {};
  Node* n = variance(r, x);
  return {r.result(n->value(0), 0), r.result(n->value(1), 1)};
}
Replacement std_mean(Rewrite& r) {
  if (!has_variance(r)) return {};
  Node* n = variance(r, r.opmath(r.tensor("self")));
  return {r.result(r.b.call("aten.sqrt", {n->value(0)}), 0), r.result(n->value(1), 1)};
}

Replacement logsumexp(Rewrite& r) {
  const Value self = r.tensor("self");
  if (may_be_empty(self) || is_complex(r.out().dtype)) return {};
  const Value x = r.opmath(r.b.to(self, r.out().dtype));
  const auto dims = dims_of(r, x.meta().rank());
  const Value peak = reduce(r, "aten.amax", x, dims, true);
  const Value is_infinite = r.b.call("aten.isinf", {peak});
  const Value shift = r.b.where(is_infinite, 0.0, peak);
  const Value total = reduce(r, "aten.sum.dim_IntList", r.b.call("aten.exp", {r.b.sub(x, shift)}), dims, true);
  const Value y = r.b.add(r.b.call("aten.log", {total}), shift);
  return {r.result(r.b.reshape(y, r.out().sizes))};
}

Value norm_of(Rewrite& r, Value x, double order, std::span<const int64_t> dims, bool keep) {
  const Value magnitude = order == 2 ? x : r.b.call("aten.abs", {x});
  if (std::isinf(order)) return reduce(r, order > 0 ? "aten.amax" : "aten.amin", magnitude, dims, keep);
  if (order == 0) return reduce(r, "aten.sum.dim_IntList", r.b.to(r.b.ne(x, int64_t{0}), x.meta().dtype), dims, keep);
  if (order == 1) return reduce(r, "aten.sum.dim_IntList", magnitude, dims, keep);
  if (order == 2) return r.b.call("aten.sqrt", {reduce(r, "aten.sum.dim_IntList", r.b.mul(x, x), dims, keep)});
  const Value powers = r.b.call("aten.pow.Tensor_Scalar", {magnitude, order});
  return r.b.call("aten.pow.Tensor_Scalar", {reduce(r, "aten.sum.dim_IntList", powers, dims, keep), 1.0 / order});
}

Replacement vector_norm(Rewrite& r) {
  const Value self = r.tensor("self");
  const char* order_name = r.node.op->argument_index("ord") >= 0 ? "ord" : "p";
  const double order = r.has(order_name) ? r.number(order_name) : 2.0;
  if (!is_floating(self.meta().dtype) || (std::isinf(order) && may_be_empty(self))) return {};
  const Value x = r.b.to(r.b.to(self, r.out().dtype), opmath_type(r.out().dtype));
  return {r.result(norm_of(r, x, order, dims_of(r, x.meta().rank()), keepdim(r)))};
}

Replacement aminmax(Rewrite& r) {
  const Value x = r.tensor("self");
  if (may_be_empty(x)) return {};
  const auto dims = dims_of(r, x.meta().rank());
  return {reduce(r, "aten.amin", x, dims, keepdim(r)), reduce(r, "aten.amax", x, dims, keepdim(r))};
}

Replacement count_nonzero(Rewrite& r) {
  const Value x = r.tensor("self");
  const Value is_set = r.b.to(r.b.ne(x, int64_t{0}), DType::kInt64);
  return {reduce(r, "aten.sum.dim_IntList", is_set, dims_of(r, x.meta().rank()), false)};
}

Replacement cumulative(Rewrite& r) {
  const Value x = r.tensor("self");
  if (x.meta().dtype == r.out().dtype) return {};
  return {r.b.call(r.node.op->name, {r.result(x), r.argument("dim"), r.out().dtype})};
}

Replacement trace(Rewrite& r) {
  const Value diagonal = r.b.call("aten.diagonal", {r.tensor("self")});
  const int64_t dims[] = {0};
  return {r.b.sum(r.result(diagonal), dims, false)};
}

constexpr Decomposition kRows[] = {
    {"aten.sum", sum},
    {"aten.sum.dim_IntList", sum},
    {"aten.mean", mean},
    {"aten.mean.dim", mean},
    {"aten.nansum", nansum},
    {"aten.amax", amax},
    {"aten.amin", amin},
    {"aten.max", max_all},
    {"aten.min", min_all},
    {"aten.any", any},
    {"aten.any.dim", any},
    {"aten.any.dims", any},
    {"aten.all", all},
    {"aten.all.dim", all},
    {"aten.all.dims", all},
    {"aten.argmax", arg_reduction},
    {"aten.argmin", arg_reduction},
    {"aten.prod", prod},
    {"aten.prod.dim_int", prod},
    {"aten.var", var},
    {"aten.var.dim", var},
    {"aten.var.correction", var},
    {"aten.std", standard_deviation},
    {"aten.std.dim", standard_deviation},
    {"aten.std.correction", standard_deviation},
    {"aten.var_mean", var_mean},
    {"aten.var_mean.dim", var_mean},
    {"aten.var_mean.correction", var_mean},
    {"aten.std_mean", std_mean},
    {"aten.std_mean.dim", std_mean},
    {"aten.std_mean.correction", std_mean},
    {"aten.logsumexp", logsumexp},
    {"aten.linalg_vector_norm", vector_norm},
    {"aten.norm.Scalar", vector_norm},
    {"aten.norm.ScalarOpt_dim", vector_norm},
    {"aten.norm.ScalarOpt_dtype", vector_norm},
    {"aten.norm.ScalarOpt_dim_dtype", vector_norm},
    {"aten.aminmax", aminmax},
    {"aten.count_nonzero", count_nonzero},
    {"aten.cumsum", cumulative},
    {"aten.cumprod", cumulative},
    {"aten.trace", trace},
};

}  // namespace

std::span<const Decomposition> reduction_decompositions() { return kRows; }

}  // namespace litz
