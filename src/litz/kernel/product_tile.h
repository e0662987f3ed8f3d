#pragma once
// A matrix product as a kernel of its own: the group's product (a sum over one axis of factors that vary over one of the last two outer
// axes each) and what follows it element by element, on tiles of the result that stay in registers. With three outer axes the first one
// counts the matrices of a batch.
//
//   outer i < M, j < N: sum over r < K of a[i, r] * b[r, j]; gelu      ->   y < M step 128; x < N step 128 { r < K step 64 { .. } gelu }
#include "litz/kernel/kernel.h"

namespace litz {

struct ProductTile {
  int rows = 128, columns = 128, depth = 64;  // values of the two outer axes and of the summed one that a program takes at once
  int warps = 8;
  int stages = 3;  // steps along the summed axis whose loads are under way
  /// > 0: so many programs go from tile to tile, and blocks come and go through tensor descriptors, which the hardware follows.
  int programs = 0;
  int pieces = 1;  // of a tile's columns; what follows the product takes one after the other
  friend bool operator==(const ProductTile&, const ProductTile&) = default;
};

/// "128x128x64, 8 warps, 3 stages", "128x256x64, 8 warps, 3 stages, descriptors".
std::string to_text(const ProductTile& tile);

/// The first member is the product, the others are pointwise over the same outer axes. Targets that run a grid of blocks.
std::unique_ptr<Kernel> build_product_kernel(const FusedGroup& group, const Schedule& schedule, const Target& target,
                                             const KernelOptions& options, const ProductTile& tile);

/// The blocks of such a group, instead of those of map_blocks.
struct KernelPlan;
void map_product(KernelPlan& plan, const ProductTile& tile);

}  // namespace litz
