#include "litz/symbolic/size_hint.h"

#include "litz/symbolic/evaluate.h"

namespace litz {
namespace {

std::optional<int64_t> likely(Expr e, int64_t fallback) {
  const auto value_of = [fallback](Expr operand) { return likely(operand, fallback); };
  if (!e.is_symbol()) return evaluate_node<int64_t>(e, value_of);
  if (e.hint()) return e.hint();
  if (!e.extent()) return std::clamp(fallback, e.range().lower, e.range().upper);
  const std::optional<int64_t> extent = likely(e.extent(), fallback);
  return extent ? std::optional(std::max<int64_t>(0, *extent - 1)) : std::nullopt;
}

}  // namespace

int64_t size_hint(Expr expr, int64_t fallback) { return likely(expr, fallback).value_or(fallback); }

}  // namespace litz
