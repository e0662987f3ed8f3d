#pragma once
// What a compile may ask and must promise about sizes, with the names of PyTorch's `sizevars`. Three kinds of call:
//   must hold    check*, expect_true        adds a runtime assertion unless it is proven; never a specialisation
//   a question   statically_known_*, guard_or_false        "proven" or "not proven", without side effect
//   a hint       optimization_hint (for heuristics: never a guard), guarding_hint (the answer binds: records a guard)
// Facts that were asserted or guarded count as known from then on. One object a compile, filled at import from a
// snapshot of the framework's facts; guards that a stage adds are handed over by take_new_guards.
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "litz/symbolic/expr.h"

namespace litz {

class SizeVars {
 public:
  explicit SizeVars(ExprContext& context) : context_(context) {}
  SizeVars(const SizeVars&) = delete;
  SizeVars& operator=(const SizeVars&) = delete;

  /// A condition under which the compiled graph is valid; the framework checks it before each call.
  struct Guard {
    Expr condition;
    std::string reason;
  };
  /// A condition that the compiled graph checks itself; its failure raises `message`.
  struct Assertion {
    Expr condition;
    std::string message;
  };

  // Import.
  /// From now on `symbol` is `replacement` (s1 = s0). `replacement` must not contain the symbol.
  void replace(Expr symbol, Expr replacement);
  /// A condition that already holds whenever the graph runs (a guard or deferred assertion of the framework).
  void assume(Expr condition);

  /// With replacements made.
  Expr simplify(Expr expr) const;

  // Must hold. A condition that is proven false is a UserError with the message.
  void check(Expr condition, std::string_view message = "");
  void check_equals(Expr left, Expr right, std::string_view message = "");
  void check_lt(Expr left, Expr right, std::string_view message = "");
  void check_leq(Expr left, Expr right, std::string_view message = "");
  /// Assumed now, asserted later: true unless it is proven false.
  bool expect_true(Expr condition, std::string_view message = "");

  // Questions.
  bool guard_or_false(Expr condition) const { return statically_known_true(condition); }
  bool statically_known_true(Expr condition) const;
  bool statically_known_equals(Expr left, Expr right) const;
  bool statically_known_lt(Expr left, Expr right) const;
  bool statically_known_leq(Expr left, Expr right) const;
  bool statically_known_gt(Expr left, Expr right) const { return statically_known_lt(right, left); }
  bool statically_known_geq(Expr left, Expr right) const { return statically_known_leq(right, left); }
  bool statically_known_multiple_of(Expr numerator, Expr denominator) const;

  // Hints.
  /// The value at the sizes seen at capture, for heuristics. A symbol without a hint counts as `fallback` (within its
  /// range), a loop variable as 0.
  int64_t optimization_hint(Expr expr, int64_t fallback) const;
  /// The value at the sizes seen at capture; the compiled graph is then only valid where it is the same. A UserError
  /// for a value that only the run knows.
  int64_t guarding_hint(Expr expr, std::string_view reason = "");

  std::span<const Guard> guards() const { return guards_; }
  std::span<const Assertion> assertions() const { return assertions_; }
  /// The guards added since the last call.
  std::vector<Guard> take_new_guards();
  /// From now on adding a guard is a check failure (after scheduling; in a backward whose forward is already guarded).
  void freeze_guards() { guards_frozen_ = true; }
  bool guards_frozen() const { return guards_frozen_; }

  ExprContext& context() const { return context_; }

 private:
  enum class Truth { kUnknown, kTrue, kFalse };
  Truth truth(Expr condition) const;
  bool follows_from_facts(Expr condition) const;
  void learn(Expr condition);

  ExprContext& context_;
  Substitution replacements_;
  std::unordered_set<Expr> facts_;
  std::vector<Expr> nonnegative_facts_;  // differences that are at least 0 by comparisons among the facts
  std::vector<Guard> guards_;
  std::vector<Assertion> assertions_;
  size_t taken_guards_ = 0;
  bool guards_frozen_ = false;
};

}  // namespace litz
