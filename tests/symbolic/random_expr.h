#pragma once
// Random expressions in two forms: as Litz builds (and simplifies) them, and as a tree that is evaluated by the
// definition of each operation, with no simplification. Written as programs of a stack machine, so that a failing one
// shrinks by losing steps.
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "litz/symbolic/expr.h"

namespace litz::testing_support {

struct Tree {
  char op;  // '+', '*', '/', '%', 'm'in, 'M'ax, '<', 'l'e, '=', '?', 'n'egate, 'c'onstant, 's'ymbol
  std::vector<int> children;
  int64_t value = 0;  // constant, or number of the symbol
};

/// Symbols of every kind, loop variables with extents by constant, by size and by product of sizes.
class Universe {
 public:
  Universe();
  ExprContext context;
  std::vector<Expr> symbols;

  struct Point {
    std::vector<int64_t> values;  // per symbol
    std::optional<int64_t> operator()(Expr symbol) const;
    const Universe* universe;
  };
  /// Symbols without a bound of their own lie within [-most, most].
  Point random_point(std::mt19937& random, int64_t most = 20) const;
  /// The same sizes with other values of the loop variables.
  Point elsewhere_in_loops(const Point& point, std::mt19937& random) const;
};

enum class Style {
  kAny,    // every operation on everything
  kIndex,  // what index arithmetic looks like: sums of terms, divided by sizes and their products, sometimes put
           // together again
};

struct RandomExpr {
  RandomExpr(Universe& universe, const std::vector<int>& program, Style style = Style::kAny);
  Expr expr;                // simplified at every step
  std::vector<Tree> nodes;  // the last one is the root
  std::optional<int64_t> reference(const Universe::Point& point) const;
  std::string text() const { return text(int(nodes.size()) - 1); }

 private:
  using Entry = std::pair<Expr, int>;  // and its node
  Entry constant(int64_t value);
  Entry symbol(size_t number);
  Entry binary(char op, Entry a, Entry b);
  void run_any(const std::vector<int>& program, std::vector<Entry>& stack);
  void run_index(const std::vector<int>& program, std::vector<Entry>& stack);
  Entry divisor(int choice);
  std::string text(int node) const;

  Universe& universe_;
};

}  // namespace litz::testing_support
