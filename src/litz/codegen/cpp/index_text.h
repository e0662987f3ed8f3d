#pragma once
// Index expressions as C++. Uniform expressions are scalars of i64. An expression that varies over the lanes is a vector, of i32
// where every part of it provably fits, else of i64; `l` names the lanes of the step.
#include <functional>
#include <string>
#include <unordered_map>

#include "litz/codegen/index_spelling.h"

namespace litz {

class IndexText : private IndexSpelling {
 public:
  IndexText();
  /// A symbol's text: a loop variable, a size, the value of an indirect index; or that of a number computed before the call.
  void bind(Expr symbol, std::string text) { scalars_[symbol] = std::move(text); }
  /// The axis (or lane symbol) of the loop with lanes: text is its value in lane 0.
  void bind_lanes(Expr symbol, std::string text) { lanes_[symbol] = {std::move(text), false}; }
  /// An indirect index that differs between lanes: text is a vector of i64.
  void bind_vector(Expr symbol, std::string text) { lanes_[symbol] = {std::move(text), true}; }
  void unbind(Expr symbol);

  bool varies(Expr expr) const;
  /// The value in lane 0 (uniform expressions: the value).
  std::string scalar(Expr expr) const { return spell(expr); }
  /// All lanes; the element type goes to `is_narrow`: i32 or i64. Booleans are masks.
  std::string vector(Expr expr, bool& is_narrow) const;
  /// The distance between the values of neighbouring lanes, uniform: null where there is no such (a vector must be spelled).
  Expr lane_stride(Expr expr) const;

 private:
  struct LaneSymbol {
    std::string text;
    bool is_vector;
  };
  std::string vector_part(Expr expr, bool narrow) const;
  std::string vector_operand(Expr expr, bool narrow) const;
  std::string symbol(Expr symbol) const override;
  const std::string* known(Expr expr) const override;
  std::string integer(int64_t value) const override;
  std::pair<std::string, bool> negation(Expr operand) const override;
  std::string choice(Expr condition, Expr if_true, Expr if_false) const override;
  bool fits_int32(Expr expr) const;
  std::unordered_map<Expr, std::string> scalars_;
  std::unordered_map<Expr, LaneSymbol> lanes_;
};

}  // namespace litz
