#pragma once
// Index expressions as Python over Triton values. Scalars and blocks are spelled alike: Triton broadcasts.
#include <string>
#include <unordered_map>

#include "litz/codegen/index_spelling.h"

namespace litz {

class TritonIndex : private IndexSpelling {
 public:
  TritonIndex();
  void bind(Expr symbol, std::string text) { texts_[symbol] = std::move(text); }
  std::string text(Expr expr) const { return spell(expr); }

 private:
  std::string symbol(Expr symbol) const override;
  const std::string* known(Expr expr) const override;
  std::string integer(int64_t value) const override;
  std::pair<std::string, bool> negation(Expr operand) const override;
  std::string choice(Expr condition, Expr if_true, Expr if_false) const override;
  std::unordered_map<Expr, std::string> texts_;
};

}  // namespace litz
