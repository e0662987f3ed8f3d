#pragma once
// Integer (and boolean) expressions over symbols. Nodes are interned in an ExprContext, immutable, canonical on
// construction and compared by pointer: two expressions that the rules can bring to one form are one node. A symbol carries its
// range for life, so a simplification that uses ranges can be made at construction and never depends on where it is asked.
//
// Semantics: 64-bit integers without overflow (an expression whose value leaves int64 is a bug of the program it came from).
// floor_div and mod round towards minus infinity, as in Python; their divisor is never zero.
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace litz {

enum class ExprKind : uint8_t {
  kInteger,
  kSymbol,
  kAdd,       // n-ary: sum of terms, constant last
  kMul,       // n-ary: product of factors, constant first
  kFloorDiv,  // operands: dividend, divisor
  kMod,
  kMin,       // n-ary
  kMax,
  // Booleans: value 0 or 1.
  kEq,
  kNe,
  kLt,
  kLe,
  kAnd,  // n-ary
  kOr,
  kNot,
  kSelect,  // operands: condition, if true, if false
};

/// What a symbol stands for. Free sizes are known when a compiled graph is called; axes and lanes only inside a kernel.
enum class SymbolKind : uint8_t {
  kSize,      // a size or number of the graph's inputs (s0)
  kUnbacked,  // known only when an op has run (u0)
  kAxis,      // a loop variable (i0, r0): 0 <= axis < extent
  kIndirect,  // an integer that a body computed (an index loaded from memory)
};

constexpr int64_t kIntInf = std::numeric_limits<int64_t>::max();

/// Closed interval; kIntInf and -kIntInf mean unbounded.
struct ValueRange {
  int64_t lower = -kIntInf;
  int64_t upper = kIntInf;
  bool is_single() const { return lower == upper && lower != kIntInf && lower != -kIntInf; }
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

class ExprContext;
struct ExprNode;

/// A handle to an interned node; cheap to copy; null only when default-constructed.
class Expr {
 public:
  Expr() = default;
  explicit Expr(const ExprNode* node) : node_(node) {}
  explicit operator bool() const { return node_ != nullptr; }

  ExprKind kind() const;
  std::span<const Expr> operands() const;
  ExprContext& context() const;
  /// Proven bounds of the value, from the ranges of its symbols.
  ValueRange range() const;
  size_t hash() const;
  /// Creation order within the context: a stable order for canonical forms and output.
  uint32_t id() const;

  bool is_integer() const { return kind() == ExprKind::kInteger; }
  bool is_integer(int64_t value) const { return is_integer() && integer() == value; }
  int64_t integer() const;  // checked
  std::optional<int64_t> as_integer() const;
  bool is_symbol() const { return kind() == ExprKind::kSymbol; }
  SymbolKind symbol_kind() const;
  std::string_view symbol_name() const;
  /// For an axis: its exclusive upper bound. Null for other symbols.
  Expr extent() const;
  /// The value seen when the graph was captured, if the symbol has one. Only SizeVars asks.
  std::optional<int64_t> hint() const;

  const ExprNode* node() const { return node_; }
  friend bool operator==(Expr a, Expr b) { return a.node_ == b.node_; }

 private:
  const ExprNode* node_ = nullptr;
};

class ExprContext {
 public:
  ExprContext();
  ~ExprContext();
  ExprContext(const ExprContext&) = delete;
  ExprContext& operator=(const ExprContext&) = delete;

  Expr integer(int64_t value);
  Expr boolean(bool value) { return integer(value); }
  /// A size or unbacked symbol. The same name gives the same symbol (its range must agree).
  Expr symbol(std::string_view name, SymbolKind kind, ValueRange range, std::optional<int64_t> hint = std::nullopt);
  /// A fresh loop variable with 0 <= axis < extent; the name is made unique and is for printing.
  Expr axis(std::string_view name, Expr extent);
  /// A fresh symbol for an integer that a body computes, known to lie in [0, extent) once checked.
  Expr indirect(std::string_view name, Expr extent);
  /// The symbol of that name, or null.
  Expr find_symbol(std::string_view name) const;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator+(Expr a, int64_t b);
Expr operator-(Expr a, int64_t b);
Expr operator*(Expr a, int64_t b);
Expr floor_div(Expr a, Expr b);
Expr ceil_div(Expr a, Expr b);
Expr mod(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr sum(ExprContext& context, std::span<const Expr> terms);
Expr product(ExprContext& context, std::span<const Expr> factors);  // 1 for none: the number of elements of a shape

// Boolean expressions; folded where ranges decide.
Expr eq(Expr a, Expr b);
Expr ne(Expr a, Expr b);
Expr lt(Expr a, Expr b);
Expr le(Expr a, Expr b);
Expr logical_and(Expr a, Expr b);
Expr logical_or(Expr a, Expr b);
Expr logical_not(Expr a);
Expr select(Expr condition, Expr if_true, Expr if_false);

using Substitution = std::vector<std::pair<Expr, Expr>>;  // symbol -> replacement
Expr substitute(Expr expr, const Substitution& map);
/// Many expressions under one map share one memo.
std::vector<Expr> substitute(std::span<const Expr> exprs, const Substitution& map);

/// Symbols in the expression, without repeats, by id.
std::vector<Expr> free_symbols(Expr expr);
bool depends_on(Expr expr, Expr symbol);

/// expr = sum of coefficients[i] * symbols[i] + rest, where neither the coefficients nor rest contain any of the symbols.
struct LinearForm {
  std::vector<Expr> coefficients;
  Expr rest;
};
/// Nullopt when expr is not affine in the symbols.
std::optional<LinearForm> linear_form(Expr expr, std::span<const Expr> symbols);

/// Row-major position of coordinates in a shape, and its inverse. The inverse of the position of axes that tile the shape
/// gives the axes back.
Expr flatten(ExprContext& context, std::span<const Expr> coordinates, std::span<const Expr> sizes);
std::vector<Expr> unflatten(Expr position, std::span<const Expr> sizes);

/// Python syntax: "s0*768 + i1", "i0 // 4", "i0 % 4", "min(a, b)".
std::string to_string(Expr expr);
/// Reads what to_string writes; symbols must exist. Throws UserError with the column.
Expr parse_expr(ExprContext& context, std::string_view text);

}  // namespace litz

template <>
struct std::hash<litz::Expr> {
  size_t operator()(litz::Expr e) const { return e ? e.hash() : 0; }
};
