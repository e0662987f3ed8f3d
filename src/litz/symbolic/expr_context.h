#pragma once
// The inside of ExprContext, for the files of this folder: interning, memos, and terms of polynomials.
#include <array>
#include <compare>
#include <string>
#include <unordered_map>

#include "litz/support/arena.h"
#include "litz/support/check.h"
#include "litz/support/hash.h"
#include "litz/support/inline_vector.h"
#include "litz/support/intern_table.h"
#include "litz/symbolic/expr.h"

namespace litz {

struct Definition;
/// What computed.h adds to a symbol.
struct ComputedSymbol {
  bool is_float;
  std::unique_ptr<Definition> definition;  // null: a float that is given
};
std::optional<int64_t> evaluate_definition(const Definition& definition,
                                           const std::function<std::optional<int64_t>(Expr symbol)>& value_of);

/// A constructor that meets a sum or product of constants beyond 64 bits throws it. Proofs take it for "not proven".
class ExprOverflow : public UserError {
 public:
  using UserError::UserError;
};

enum ExprFlag : uint8_t {
  kFlagExactRange = 1,  // the interval of constants is exact: affine in symbols that have constant bounds
  kFlagModFactor = 2,   // a mod among the factors of a term: sums look for partners to merge
  kFlagCompound = 4,    // somewhere inside: anything but sums and products of symbols
  kFlagLoopSymbol = 8,  // somewhere inside: an axis or indirect index
  kFlagBoolean = 16,    // value 0 or 1 by kind
};

/// Names of the memoised binary constructors.
enum class ExprOp : uint32_t { kAdd, kSub, kMul, kFloorDiv, kMod, kMin, kMax, kLe, kEq };

struct ExprContext::Impl {
  explicit Impl(ExprContext& context);
  ~Impl();

  /// The interned node of this kind over these (canonical) operands. Canonicalisation is the caller's.
  Expr intern(ExprKind kind, std::span<const Expr> operands);
  Expr integer(int64_t value);
  Expr new_symbol(std::string_view name, SymbolKind kind, ValueRange range, Expr extent, std::optional<int64_t> hint);
  std::string unique_name(std::string_view name);

  /// Memo of binary constructors: direct mapped, so old entries give way.
  struct Memo {
    uint64_t operands = 0;
    ExprOp op = ExprOp::kAdd;
    const ExprNode* result = nullptr;
  };
  Memo& memo(ExprOp op, Expr a, Expr b) {
    uint64_t key = (uint64_t(a.id()) << 32) | b.id();
    return memos[hash_mix(uint64_t(op) + 1, key) & (kMemoSize - 1)];
  }
  bool memo_hit(const Memo& memo, ExprOp op, Expr a, Expr b) const {
    return memo.result && memo.op == op && memo.operands == ((uint64_t(a.id()) << 32) | b.id());
  }
  void memo_fill(Memo& memo, ExprOp op, Expr a, Expr b, Expr result) { memo = {(uint64_t(a.id()) << 32) | b.id(), op, result.node()}; }

  ExprContext& context;
  Arena arena;
  InternTable<ExprNode> table;
  uint32_t next_id = 0;
  uint32_t next_symbol = 0;
  std::unordered_map<std::string_view, Expr> symbols;
  std::unordered_map<const ExprNode*, ComputedSymbol> computed;
  std::unordered_map<std::string, uint32_t> name_counters;
  static constexpr int kSmallIntegers = 1024;
  std::array<const ExprNode*, kSmallIntegers + 16> small_integers{};
  static constexpr size_t kMemoSize = 8192;
  std::unique_ptr<Memo[]> memos;
  std::unordered_map<Expr, bool> nonnegative;  // proofs; ranges are for life, so they stay true (and false)
  // A proof within a proof within ... is cut off at a depth. What was decided under a cut is not remembered, so that
  // the canonical form of an expression does not depend on where it was built first.
  int proof_depth = 0;
  int proof_steps = 0;
  uint64_t proof_cuts = 0;
};

inline ExprContext::Impl& impl_of(Expr e) { return e.context().impl(); }
inline bool has_flag(Expr e, ExprFlag flag) { return e.node()->flags & flag; }
inline bool is_loop_symbol(Expr e) {
  return e.is_symbol() && (e.symbol_kind() == SymbolKind::kAxis || e.symbol_kind() == SymbolKind::kIndirect);
}
[[noreturn]] void fail_contexts(Expr a, Expr b);
inline void check_same_context(Expr a, Expr b) {
  if (!a || !b || a.node()->context != b.node()->context) [[unlikely]]
    fail_contexts(a, b);
}

[[noreturn]] void fail_overflow(int64_t a, char operation, int64_t b);
inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
    fail_overflow(a, '+', b);
  return sum;
}
inline int64_t checked_mul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
    fail_overflow(a, '*', b);
  return product;
}

/// Total structural order; equal only for the same node.
std::strong_ordering compare_exprs(Expr a, Expr b);

}  // namespace litz
