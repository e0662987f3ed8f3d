#include "litz/codegen/triton/triton_index.h"

#include <fmt/format.h>

#include "litz/support/check.h"

namespace litz {
namespace {

enum Precedence { kAny = 0, kCompareLevel, kOrLevel, kAndLevel, kAddLevel, kMulLevel, kAtom };

std::string wrap(std::string text, bool parentheses) { return parentheses ? "(" + text + ")" : text; }

const char* comparison(ExprKind kind) {
  switch (kind) {
    case ExprKind::kEq: return "==";
    case ExprKind::kNe: return "!=";
    case ExprKind::kLt: return "<";
    default: return "<=";
  }
}

}  // namespace

std::string TritonIndex::part(Expr expr, int parent) const {
  auto joined = [&](const char* glue, int level) {
    std::string text;
    for (Expr o : expr.operands()) {
      std::string piece = part(o, level);
      if (text.empty()) text = piece;
      else if (level == kAddLevel && piece.starts_with('-')) text += fmt::format(" - {}", piece.substr(1));
      else text += glue + piece;
    }
    return wrap(text, parent > level);
  };
  auto nested = [&](const char* name) {
    std::string text = part(expr.operands()[0], kAny);
    for (size_t k = 1; k < expr.operands().size(); ++k) text = fmt::format("{}({}, {})", name, text, part(expr.operands()[k], kAny));
    return text;
  };
  switch (expr.kind()) {
    case ExprKind::kInteger: return fmt::format("{}", expr.integer());
    case ExprKind::kSymbol: {
      auto known = texts_.find(expr);
      LITZ_CHECK(known != texts_.end(), "no text for symbol {}", expr.symbol_name());
      return known->second;
    }
    case ExprKind::kAdd: return joined(" + ", kAddLevel);
    case ExprKind::kMul:
      if (expr.operands()[0].is_integer(-1) && expr.operands().size() == 2)
        return wrap("-" + part(expr.operands()[1], kAtom), parent > kAddLevel);
      return joined(" * ", kMulLevel);
    case ExprKind::kFloorDiv:
    case ExprKind::kMod: {
      const bool is_div = expr.kind() == ExprKind::kFloorDiv;
      Expr a = expr.operands()[0], b = expr.operands()[1];
      if (a.range().lower >= 0 && b.range().lower >= 0)
        return wrap(fmt::format("{} {} {}", part(a, kAtom), is_div ? "//" : "%", part(b, kAtom)), parent > kAddLevel);
      return fmt::format("lt.{}({}, {})", is_div ? "index_floor_div" : "index_mod", part(a, kAny), part(b, kAny));
    }
    case ExprKind::kMin: return nested("tl.minimum");
    case ExprKind::kMax: return nested("tl.maximum");
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kLt:
    case ExprKind::kLe:
      return wrap(fmt::format("{} {} {}", part(expr.operands()[0], kOrLevel), comparison(expr.kind()), part(expr.operands()[1], kOrLevel)),
                  parent >= kCompareLevel);
    case ExprKind::kAnd: return joined(" & ", kAndLevel);
    case ExprKind::kOr: return joined(" | ", kOrLevel);
    case ExprKind::kNot: return wrap(fmt::format("{} == 0", part(expr.operands()[0], kOrLevel)), parent >= kCompareLevel);
    case ExprKind::kSelect:
      return fmt::format("tl.where({}, {}, {})", part(expr.operands()[0], kAny), part(expr.operands()[1], kAny),
                         part(expr.operands()[2], kAny));
  }
  return {};
}

}  // namespace litz
