#pragma once
// Index expressions as Python over Triton values. Scalars and blocks are spelled alike: Triton broadcasts.
#include <string>
#include <unordered_map>

#include "litz/symbolic/expr.h"

namespace litz {

class TritonIndex {
 public:
  void bind(Expr symbol, std::string text) { texts_[symbol] = std::move(text); }
  std::string text(Expr expr) const { return part(expr, 0); }

 private:
  std::string part(Expr expr, int parent) const;
  std::unordered_map<Expr, std::string> texts_;
};

}  // namespace litz
