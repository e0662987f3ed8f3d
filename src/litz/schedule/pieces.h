#pragma once
// What the passes that cut long rows into pieces share.
#include <functional>

#include "litz/loop/program.h"
#include "litz/symbolic/size_hint.h"

namespace litz {

/// A likely size, for heuristics alone.
inline int64_t likely_size(Expr size) { return size_hint(size, 64); }

/// About `wanted` pieces of `extent`: a number that divides it, where one above the half of `wanted` does.
inline int64_t even_pieces(Expr extent, int64_t wanted) {
  if (extent.is_integer())
    for (int64_t pieces = wanted; pieces > wanted / 2; --pieces)
      if (extent.integer() % pieces == 0) return pieces;
  return wanted;
}

/// Gives every operation to `replace`, in order, which appends others in its place or says false: then it stays. Whether any was replaced.
inline bool replace_operations(LoopProgram& program, const std::function<bool(Operation&)>& replace) {
  const std::vector<Operation*> operations = std::move(program.operations);
  program.operations.clear();
  bool changed = false;
  for (Operation* op : operations) {
    if (replace(*op)) changed = true;
    else program.operations.push_back(op);
  }
  return changed;
}

}  // namespace litz
