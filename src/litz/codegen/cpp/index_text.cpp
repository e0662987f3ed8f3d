#include "litz/codegen/cpp/index_text.h"

#include <fmt/format.h>

#include <limits>

#include "litz/support/check.h"

namespace litz {

void IndexText::unbind(Expr symbol) {
  scalars_.erase(symbol);
  lanes_.erase(symbol);
}

bool IndexText::varies(Expr expr) const {
  for (Expr s : free_symbols(expr)) {
    if (lanes_.contains(s)) return true;
  }
  return false;
}

Expr IndexText::lane_stride(Expr expr) const {
  std::vector<Expr> symbols;
  for (Expr s : free_symbols(expr)) {
    auto lane = lanes_.find(s);
    if (lane == lanes_.end()) continue;
    if (lane->second.is_vector) return Expr();
    symbols.push_back(s);
  }
  Expr stride = expr.context().integer(0);
  if (symbols.empty()) return stride;
  auto form = linear_form(expr, symbols);
  if (!form) return Expr();
  for (Expr c : form->coefficients) stride = stride + c;
  return stride;
}

namespace {

bool is_nonnegative(Expr e) { return e.range().lower >= 0; }

const char* comparison_name(ExprKind kind) {
  switch (kind) {
    case ExprKind::kEq: return "eq";
    case ExprKind::kNe: return "ne";
    case ExprKind::kLt: return "lt";
    default: return "le";
  }
}

constexpr IndexWords kWords = {.quotient = "/",
                               .floor_div = "floor_div<i64>",
                               .mod = "remainder<i64>",
                               .minimum = "minimum<i64>",
                               .maximum = "maximum<i64>",
                               .conjunction = " && ",
                               .disjunction = " || "};

}  // namespace

IndexText::IndexText() : IndexSpelling(kWords) {}

std::string IndexText::symbol(Expr symbol) const {
  if (auto lane = lanes_.find(symbol); lane != lanes_.end())
    return lane->second.is_vector ? fmt::format("lane({}, 0)", lane->second.text) : lane->second.text;
  auto known = scalars_.find(symbol);
  LITZ_CHECK(known != scalars_.end(), "no text for symbol {}", symbol.symbol_name());
  return known->second;
}

const std::string* IndexText::known(Expr expr) const {
  const auto found = scalars_.find(expr);
  return found == scalars_.end() ? nullptr : &found->second;
}

std::string IndexText::integer(int64_t value) const {
  if (value == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807l - 1)";
  const bool is_long = value > std::numeric_limits<int32_t>::max() || value < -std::numeric_limits<int32_t>::max();
  return fmt::format("{}{}", value, is_long ? "l" : "");
}

std::pair<std::string, bool> IndexText::negation(Expr operand) const { return {"!" + spell(operand, Place::kAtom), true}; }

std::string IndexText::choice(Expr condition, Expr if_true, Expr if_false) const {
  return fmt::format("({} ? (i64)({}) : (i64)({}))", spell(condition, Place::kAtom), spell(if_true), spell(if_false));
}

bool IndexText::fits_int32(Expr expr) const {
  ValueRange r = expr.range();
  if (r.lower < std::numeric_limits<int32_t>::min() || r.upper > std::numeric_limits<int32_t>::max()) return false;
  for (Expr o : expr.operands()) {
    if (!fits_int32(o)) return false;
  }
  return true;
}

std::string IndexText::vector(Expr expr, bool& is_narrow) const {
  is_narrow = fits_int32(expr);
  return vector_operand(expr, is_narrow);
}

/// A vector even where the expression is uniform.
std::string IndexText::vector_operand(Expr expr, bool narrow) const {
  if (varies(expr)) return vector_part(expr, narrow);
  if (is_boolean(expr.kind())) return fmt::format("splat<bool>(l, {})", scalar(expr));
  return narrow ? fmt::format("splat<i32>(l, (i32)({}))", scalar(expr)) : fmt::format("splat<i64>(l, {})", scalar(expr));
}

std::string IndexText::vector_part(Expr expr, bool narrow) const {
  auto nested = [&](const char* name) {
    std::string text = vector_operand(expr.operands()[0], narrow);
    for (size_t k = 1; k < expr.operands().size(); ++k)
      text = fmt::format("{}({}, {})", name, text, vector_operand(expr.operands()[k], narrow));
    return text;
  };
  switch (expr.kind()) {
    case ExprKind::kSymbol: {
      const LaneSymbol& lane = lanes_.at(expr);
      if (lane.is_vector) return narrow ? fmt::format("convert<i32>({})", lane.text) : fmt::format("convert<i64>({})", lane.text);
      return narrow ? fmt::format("iota<i32>(l, (i32)({}))", lane.text) : fmt::format("iota<i64>(l, {})", lane.text);
    }
    case ExprKind::kAdd: return nested("add");
    case ExprKind::kMul: return nested("mul");
    case ExprKind::kFloorDiv:
    case ExprKind::kMod: {
      const bool is_div = expr.kind() == ExprKind::kFloorDiv;
      Expr a = expr.operands()[0], b = expr.operands()[1];
      if (is_nonnegative(a) && is_nonnegative(b)) {
        const char* type = narrow ? "u32" : "u64";
        const char* back = narrow ? "i32" : "i64";
        return fmt::format("as<{}>(as<{}>({}) {} as<{}>({}))", back, type, vector_operand(a, narrow), is_div ? "/" : "%", type,
                           vector_operand(b, narrow));
      }
      return fmt::format("{}({}, {})", is_div ? "floor_div" : "remainder", vector_operand(a, narrow), vector_operand(b, narrow));
    }
    case ExprKind::kMin: return nested("minimum");
    case ExprKind::kMax: return nested("maximum");
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kLt:
    case ExprKind::kLe:
      return fmt::format("{}({}, {})", comparison_name(expr.kind()), vector_operand(expr.operands()[0], narrow),
                         vector_operand(expr.operands()[1], narrow));
    case ExprKind::kAnd: return nested("logical_and");
    case ExprKind::kOr: return nested("logical_or");
    case ExprKind::kNot: return fmt::format("logical_not({})", vector_operand(expr.operands()[0], narrow));
    case ExprKind::kSelect:
      return fmt::format("where({}, {}, {})", vector_operand(expr.operands()[0], narrow), vector_operand(expr.operands()[1], narrow),
                         vector_operand(expr.operands()[2], narrow));
    case ExprKind::kInteger: break;
  }
  LITZ_CHECK(false, "an integer does not vary over lanes");
  return {};
}

}  // namespace litz
