#pragma once
// decide_layouts: gives every flexible buffer its strides, before fusion. Demands (extern calls, promises to the caller) are already
// exact or binding; a buffer that is free follows the largest buffer that its operation reads point by point, so that chains keep
// one order; otherwise it is row-major.
//
//   conv : f32[8, 64, 56, 56] flexible wanted [0, 2, 3, 1]  ->  strided [200704, 1, 3584, 64]
//
// Holds afterwards: no buffer is flexible; every decided buffer is dense.
#include "litz/loop/program.h"
#include "litz/target/target.h"

namespace litz {

/// `libraries_choose`: where the target's libraries prefer an order for an extern call's tensors, its results and arguments get it.
bool decide_layouts(LoopProgram& program, const Target& target, bool libraries_choose = true);

/// The order of dimensions from the largest stride to the smallest; symbolic strides are compared by their hints (an order is a
/// heuristic: the strides made from it are right for all sizes).
std::vector<int> stride_order(std::span<const Expr> sizes, std::span<const Expr> strides);

}  // namespace litz
