#include <fmt/format.h>

#include "litz/symbolic/polynomial.h"

namespace litz {
namespace {

// Python's precedences; `//` and `%` are set apart from `*` so that mixtures get parentheses that a reader need not
// think away.
enum Precedence { kOrLevel, kAndLevel, kNotLevel, kCompare, kSum, kDivide, kProduct, kAtom };

class Printer {
 public:
  std::string text;

  void print(Expr e, int least) {
    int level = level_of(e);
    bool parentheses = level < least;
    if (parentheses) text += '(';
    print_bare(e);
    if (parentheses) text += ')';
  }

 private:
  static int level_of(Expr e) {
    switch (e.kind()) {
      case ExprKind::kInteger: return e.node()->value < 0 ? kSum : kAtom;
      case ExprKind::kAdd: return kSum;
      case ExprKind::kMul: return e.node()->value < 0 ? kSum : kProduct;
      case ExprKind::kFloorDiv:
      case ExprKind::kMod: return kDivide;
      case ExprKind::kEq:
      case ExprKind::kNe:
      case ExprKind::kLt:
      case ExprKind::kLe: return kCompare;
      case ExprKind::kAnd: return kAndLevel;
      case ExprKind::kOr: return kOrLevel;
      case ExprKind::kNot: return kNotLevel;
      case ExprKind::kSymbol:
      case ExprKind::kMin:
      case ExprKind::kMax:
      case ExprKind::kSelect: return kAtom;
    }
    return kAtom;
  }

  void print_bare(Expr e) {
    std::span<const Expr> operands = e.operands();
    switch (e.kind()) {
      case ExprKind::kInteger: fmt::format_to(std::back_inserter(text), "{}", e.node()->value); return;
      case ExprKind::kSymbol: text += e.symbol_name(); return;
      case ExprKind::kAdd:
        for (size_t i = 0; i < operands.size(); ++i) print_term(operands[i], i == 0);
        return;
      case ExprKind::kMul: print_term(e, true); return;
      case ExprKind::kFloorDiv: return infix(operands, " // ", kProduct, kAtom);
      case ExprKind::kMod: return infix(operands, " % ", kProduct, kAtom);
      case ExprKind::kMin: return call("min", operands);
      case ExprKind::kMax: return call("max", operands);
      case ExprKind::kSelect: return call("select", operands);
      case ExprKind::kEq: return infix(operands, " == ", kSum, kSum);
      case ExprKind::kNe: return infix(operands, " != ", kSum, kSum);
      case ExprKind::kLt: return infix(operands, " < ", kSum, kSum);
      case ExprKind::kLe: return infix(operands, " <= ", kSum, kSum);
      case ExprKind::kAnd: return infix(operands, " and ", kNotLevel, kNotLevel);
      case ExprKind::kOr: return infix(operands, " or ", kAndLevel, kAndLevel);
      case ExprKind::kNot:
        text += "not ";
        print(operands[0], kNotLevel);
        return;
    }
  }

  // Factors first, then the constant: i0*768. The sign goes before.
  void print_term(Expr e, bool first) {
    int64_t coefficient = e.node()->value;
    bool constant = e.is_integer();
    if (!constant && e.node()->core == e) coefficient = 1;
    bool negative = coefficient < 0;
    if (!first) text += negative ? " - " : " + ";
    else if (negative) text += '-';
    uint64_t magnitude = negative ? 0 - uint64_t(coefficient) : uint64_t(coefficient);
    if (constant) {
      fmt::format_to(std::back_inserter(text), "{}", magnitude);
      return;
    }
    Expr core = e.node()->core;
    std::span<const Expr> factors = factors_of(core);
    bool alone = factors.size() == 1 && magnitude == 1;
    for (size_t i = 0; i < factors.size(); ++i) {
      if (i > 0) text += '*';
      print(factors[i], alone ? (negative ? kProduct : kDivide) : kAtom);
    }
    if (magnitude != 1) fmt::format_to(std::back_inserter(text), "*{}", magnitude);
  }

  void infix(std::span<const Expr> operands, const char* between, int left, int right) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (i > 0) text += between;
      print(operands[i], i == 0 ? left : right);
    }
  }

  void call(const char* name, std::span<const Expr> operands) {
    text += name;
    text += '(';
    for (size_t i = 0; i < operands.size(); ++i) {
      if (i > 0) text += ", ";
      print(operands[i], kOrLevel);
    }
    text += ')';
  }
};

}  // namespace

std::string to_string(Expr expr) {
  if (!expr) return "<null>";
  Printer printer;
  printer.print(expr, kOrLevel);
  return std::move(printer.text);
}

}  // namespace litz
