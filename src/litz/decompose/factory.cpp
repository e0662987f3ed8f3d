// Tensors made from numbers. Uninitialised ones become zeros: nothing is read from them, or it is undefined.
#include "litz/decompose/decompose.h"
#include "litz/symbolic/computed.h"

namespace litz {
namespace {

Value filled(Rewrite& r, Argument value) { return r.b.full(r.out().sizes, std::move(value), r.out().dtype, r.out().device); }

bool is_strided(Rewrite& r) { return !r.has("layout") || r.text("layout") == "strided"; }

Replacement zeros(Rewrite& r) {
  if (!is_strided(r)) return {};
  return {filled(r, int64_t{0})};
}
Replacement ones(Rewrite& r) {
  if (!is_strided(r)) return {};
  return {filled(r, int64_t{1})};
}
Replacement full(Rewrite& r) {
  if (!is_strided(r)) return {};
  return {filled(r, r.argument("fill_value"))};
}
Replacement scalar_tensor(Rewrite& r) {
  if (!is_strided(r)) return {};
  return {filled(r, r.argument("s"))};
}

/// start + i * step; float results are computed in float64 and rounded once, as eager accumulates. Of integers every term is truncated
/// before, as in eager.
Replacement arange(Rewrite& r) {
  if (!is_strided(r)) return {};
  const DType type = r.out().dtype;
  auto term = [&](const char* name, int64_t otherwise) {
    if (r.node.op->argument_index(name) < 0) return Argument(otherwise);
    const Argument& given = r.argument(name);
    return is_integral(type) && given.is<double>() ? Argument(static_cast<int64_t>(r.number(name))) : given;
  };
  const Argument start = term("start", 0), step = term("step", 1);
  auto is_integer = [](const Argument& a) { return a.is<int64_t>() || (a.is<Expr>() && !is_float(a.as<Expr>())); };
  const Expr length = r.out().sizes[0];
  if (is_integral(type) && is_integer(start) && is_integer(step)) return {r.b.iota(length, r.out().device, start, step, type)};
  if (!is_floating(type)) return {};
  if (is_integer(start) && is_integer(step)) {
    const Value i = r.b.iota(length, r.out().device, start, step);
    return {r.b.to(r.b.to(i, DType::kFloat64), type)};
  }
  const Value i = r.b.to(r.b.iota(length, r.out().device), DType::kFloat64);
  return {r.b.to(r.b.add(r.b.mul(i, step), start), type)};
}

Replacement eye(Rewrite& r) {
  if (!is_strided(r)) return {};
  const Value row = r.b.unsqueeze(r.b.iota(r.out().sizes[0], r.out().device), 1);
  const Value column = r.b.iota(r.out().sizes[1], r.out().device);
  return {r.result(r.b.eq(row, column))};
}

/// The nearer end is the starting point.
Replacement linspace(Rewrite& r) {
  const DType type = r.out().dtype;
  const Expr steps = r.out().sizes[0];
  auto is_number = [&](const char* name) { return r.argument(name).is<double>() || r.argument(name).is<int64_t>(); };
  if (!is_strided(r) || !is_floating(type) || !steps.is_integer() || !is_number("start") || !is_number("end")) return {};
  const double start = r.number("start"), end = r.number("end");
  const int64_t n = steps.integer();
  if (n <= 1) return {filled(r, start)};
  const double step = (end - start) / static_cast<double>(n - 1);
  const DType compute = opmath_type(type);
  const Value i = r.b.iota(steps, r.out().device);
  const Value from_start = r.b.add(r.b.mul(r.b.to(i, compute), step), start);
  const Value from_end = r.b.sub(end, r.b.mul(r.b.to(r.b.sub(n - 1, i), compute), step));
  return {r.result(r.b.where(r.b.lt(i, n / 2), from_start, from_end))};
}

constexpr Decomposition kRows[] = {
    {"aten.zeros", zeros},
    {"aten._efficientzerotensor", zeros},
    {"aten.zeros_like", zeros},
    {"aten.new_zeros", zeros},
    {"aten.empty.memory_format", zeros},
    {"aten.empty_like", zeros},
    {"aten.new_empty", zeros},
    {"aten.new_empty_strided", zeros},
    {"aten.empty_strided", zeros},
    {"aten.empty_permuted", zeros},
    {"prims.empty", zeros},
    {"prims.empty_permuted", zeros},
    {"prims.empty_strided", zeros},
    {"aten.ones", ones},
    {"aten.ones_like", ones},
    {"aten.new_ones", ones},
    {"aten.full_like", full},
    {"aten.new_full", full},
    {"prims.full_like", full},
    {"aten.scalar_tensor", scalar_tensor},
    {"prims.scalar_tensor", scalar_tensor},
    {"aten.arange", arange},
    {"aten.arange.start", arange},
    {"aten.arange.start_step", arange},
    {"aten.eye", eye},
    {"aten.eye.m", eye},
    {"aten.linspace", linspace},
};

}  // namespace

std::span<const Decomposition> factory_decompositions() { return kRows; }

}  // namespace litz
