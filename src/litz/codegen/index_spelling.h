#pragma once
// Index expressions as source text, with parentheses only where they are needed: the walk that every language shares. A language is
// a table of words and says what a symbol, an integer, a negation and a choice look like.
#include <string>

#include "litz/symbolic/expr.h"

namespace litz {

struct IndexWords {
  const char* quotient;                   // infix, of what is not negative; the remainder is % everywhere
  const char *floor_div, *mod;            // functions, for every sign
  const char *minimum, *maximum;          // functions of two
  const char *conjunction, *disjunction;  // infix
  bool comparisons_bind_loosest = false;  // a & b == c is (a & b) == c
};

class IndexSpelling {
 public:
  explicit IndexSpelling(const IndexWords& words) : words_(words) {}
  virtual ~IndexSpelling() = default;

 protected:
  /// How tightly the text must bind where it stands.
  enum class Place : uint8_t { kAny, kComparison, kSum, kProduct, kAtom };
  std::string spell(Expr expr, Place place = Place::kAny) const { return part(expr, level_of(place)); }

  virtual std::string symbol(Expr symbol) const = 0;
  /// Of an expression that is at hand as a whole, and no symbol; null for others.
  virtual const std::string* known(Expr expr) const = 0;
  virtual std::string integer(int64_t value) const = 0;
  /// Not the operand, and whether the text is an atom.
  virtual std::pair<std::string, bool> negation(Expr operand) const = 0;
  /// An atom.
  virtual std::string choice(Expr condition, Expr if_true, Expr if_false) const = 0;

 private:
  int level_of(Place place) const;
  std::string part(Expr expr, int parent) const;
  std::string joined(Expr expr, const char* glue, int level, int parent) const;
  std::string nested(Expr expr, const char* function) const;
  const IndexWords& words_;
};

}  // namespace litz
