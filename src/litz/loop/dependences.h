#pragma once
// What an operation reads and writes, with coordinates over its axes (and over symbols that its body computes).
#include <vector>

#include "litz/loop/program.h"

namespace litz {

struct Access {
  Buffer* buffer = nullptr;
  std::vector<Expr> coordinates;  // kExtern: over the view's own axes
  std::vector<Expr> extern_axes;  // kExtern: those axes
  bool is_predicated = false;     // may touch nothing
  bool is_indirect = false;       // a coordinate depends on a value loaded from memory
  friend bool operator==(const Access&, const Access&) = default;
};

struct Dependences {
  std::vector<Access> reads;  // without repeats, in order of first use; a scatter reads its base
  std::vector<Access> writes;
  std::vector<Expr> symbols;  // sizes and unbacked symbols that it needs, without repeats
};
Dependences dependences(const Operation& operation);

}  // namespace litz
