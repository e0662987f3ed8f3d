#pragma once
// Integer (and boolean) expressions over symbols. Nodes are interned in an ExprContext, immutable, canonical on
// construction and compared by pointer: two expressions that the rules can bring to one form are one node. A symbol
// carries its range for life, so a simplification that uses ranges can be made at construction and never depends on
// where it is asked.
//
// Semantics: integers, whose values fit 64 bits where a graph or kernel needs them. Parts of an expression may not fit: rules put sums and
// products over others, which changes no value and may change what its parts are. So what follows from sizes alone is computed before
// a call, in many more bits (ExprProgram), and kernels are given the numbers; what has loop variables wraps, which is right for sums
// and products, and only rules that keep dividends and divisors in 64 bits apply to it (docs/math/div_mod.md). floor_div and mod round towards minus infinity, as in Python; their divisor is never zero. A loop variable
// lies within its extent wherever its value is asked for, so an empty loop proves nothing wrong.
//
// Canonical forms: a sum holds no sums and no equal terms, a product no sums (integers and products are distributed
// over them, so affine forms are equal when they are equal as polynomials), terms and factors stand in one structural
// order (loop variables first, sizes last) that does not depend on the order of creation of anything but symbols.
// Comparisons have all terms of positive sign, none on both sides. A context serves one thread at a time.
#include <cstdint>
#include <functional>
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
  kMul,       // n-ary: product of factors, constant first; a power repeats its base
  kFloorDiv,  // operands: dividend, divisor
  kMod,
  kMin,  // n-ary
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

/// Comparisons and what joins them.
constexpr bool is_boolean(ExprKind kind) { return kind >= ExprKind::kEq && kind <= ExprKind::kNot; }

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
  /// For an axis or an indirect index: its exclusive upper bound. Null for other symbols.
  Expr extent() const;
  /// The value seen when the graph was captured, if the symbol has one. Only SizeVars asks.
  std::optional<int64_t> hint() const;

  const ExprNode* node() const { return node_; }
  friend bool operator==(Expr a, Expr b) { return a.node_ == b.node_; }

 private:
  const ExprNode* node_ = nullptr;
};

/// What only symbols have.
struct SymbolData {
  std::string_view name;
  Expr extent;
  bool has_hint;
  int64_t hint;
};

/// What a handle points to. Made by ExprContext only; read through Expr.
struct ExprNode {
  static constexpr int kSamples = 4;

  ExprKind kind;
  SymbolKind symbol_kind;
  uint8_t flags;          // of the simplifier
  uint8_t valid_samples;  // one bit a sample
  uint32_t id;
  uint32_t operand_count;
  uint32_t hash;
  int64_t value;  // integer: its value; product: its constant factor; sum: its constant term
  ValueRange range;
  uint64_t symbol_mask;  // one bit a symbol, modulo 64: a quick no for depends_on
  ExprContext* context;
  const Expr* operands;
  Expr core;  // what like terms share: a product without its constant factor; otherwise the node itself
  const SymbolData* symbol;
  /// The value at four points of the space of symbols, fixed per context: one of them below zero refutes "at least
  /// zero" before any proof is tried.
  int64_t samples[kSamples];
};

inline ExprKind Expr::kind() const { return node_->kind; }
inline std::span<const Expr> Expr::operands() const { return {node_->operands, node_->operand_count}; }
inline ExprContext& Expr::context() const { return *node_->context; }
inline ValueRange Expr::range() const { return node_->range; }
inline size_t Expr::hash() const { return node_->hash; }
inline uint32_t Expr::id() const { return node_->id; }
inline std::optional<int64_t> Expr::as_integer() const { return is_integer() ? std::optional<int64_t>(node_->value) : std::nullopt; }
inline SymbolKind Expr::symbol_kind() const { return node_->symbol_kind; }
inline std::string_view Expr::symbol_name() const { return node_->symbol ? node_->symbol->name : std::string_view(); }
inline Expr Expr::extent() const { return node_->symbol ? node_->symbol->extent : Expr(); }
inline std::optional<int64_t> Expr::hint() const {
  return node_->symbol && node_->symbol->has_hint ? std::optional<int64_t>(node_->symbol->hint) : std::nullopt;
}

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
Expr floor_div(Expr a, int64_t b);
Expr ceil_div(Expr a, Expr b);
Expr ceil_div(Expr a, int64_t b);
Expr mod(Expr a, Expr b);
Expr mod(Expr a, int64_t b);
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

/// Whether the value is at least 0 wherever loop variables lie in their extents and symbols in their ranges. False
/// means "not proven". Correlated terms are seen: s0 - 1 - i0 is proven for i0 < s0.
bool provably_nonnegative(Expr expr);
/// The least and the greatest value over all loop variables and indirect indices, as expressions of sizes; exact where
/// expr is affine in them, otherwise a bound. Nullopt where none is found.
std::optional<Expr> lower_bound(Expr expr);
std::optional<Expr> upper_bound(Expr expr);

using Substitution = std::vector<std::pair<Expr, Expr>>;  // symbol -> replacement
Expr substitute(Expr expr, const Substitution& map);
/// Many expressions under one map share one memo.
std::vector<Expr> substitute(std::span<const Expr> exprs, const Substitution& map);

/// Symbols in the expression, without repeats, by id.
std::vector<Expr> free_symbols(Expr expr);
bool depends_on(Expr expr, Expr symbol);
/// Whether a loop variable or an indirect index is among the symbols: only inside a kernel such an expression has a value.
bool has_loop_symbols(Expr expr);

/// The value when each symbol has the value that `value_of` gives; nullopt where it gives none, a divisor is zero or the value does not
/// fit 64 bits (parts of the expression may leave them). For tests, hints and constants; the run time has ExprProgram.
std::optional<int64_t> evaluate(Expr expr, const std::function<std::optional<int64_t>(Expr symbol)>& value_of);

/// expr = sum of coefficients[i] * symbols[i] + rest, where neither the coefficients nor rest contain any of the
/// symbols.
struct LinearForm {
  std::vector<Expr> coefficients;
  Expr rest;
};
/// Nullopt when expr is not affine in the symbols.
std::optional<LinearForm> linear_form(Expr expr, std::span<const Expr> symbols);

/// Row-major position of coordinates in a shape, and its inverse. The inverse of the position of axes that tile the
/// shape gives the axes back.
Expr flatten(ExprContext& context, std::span<const Expr> coordinates, std::span<const Expr> sizes);
std::vector<Expr> unflatten(Expr position, std::span<const Expr> sizes);

/// Python syntax: "s0*768 + i1", "i0 // 4", "i0 % 4", "min(a, b)", "a < b and c == d"; and "select(c, a, b)".
std::string to_string(Expr expr);
/// Reads what to_string writes, and what SymPy and PyTorch write for the same: powers, Max, Min, Mod, FloorDiv,
/// CeilDiv, ModularIndexing, Eq, ... Symbols must exist. Throws UserError with the column.
Expr parse_expr(ExprContext& context, std::string_view text);

}  // namespace litz

template <>
struct std::hash<litz::Expr> {
  size_t operator()(litz::Expr e) const { return e ? e.hash() : 0; }
};
