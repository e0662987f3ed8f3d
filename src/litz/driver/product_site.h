#pragma once
// A matrix product of the schedule with what stands around it: the pointwise operations that compute its factors alone (prologues), and
// the one pointwise kernel that reads it (the epilogue). `join` makes one group of them all.
//
//   extern y = aten.bmm(a, b); group { z = gelu(y) }     =>     group { y = sum over r of a b; z = gelu(y) }
#include <string>
#include <vector>

#include "litz/driver/compile_state.h"

namespace litz {

struct ProductSite {
  FusedGroup* product = nullptr;
  FusedGroup* reader = nullptr;  // null: the product is stored, and `apart` says why
  std::string apart;
  std::vector<FusedGroup*> producers;  // each holds the one operation that computes a factor for this product alone
  Operation* operation = nullptr;
  Buffer* result = nullptr;
  const ExternTensor *left = nullptr, *right = nullptr, *bias = nullptr;
  int64_t batch = 1, rows = 0, columns = 0, depth = 0;

  bool has_batch() const { return result->sizes.size() == 3; }
  /// Multiplications and additions.
  int64_t operations() const { return 2 * batch * rows * columns * depth; }
};

bool is_product(const FusedGroup& group);

/// The site of a product, or why only the library can compute it.
Result<ProductSite> find_product_site(FusedGroup& product, const CompileState& state);

/// The product as loops, then its readers. With `with_producers` the producers' operations are computed where the factors are read, rounded
/// as their buffers round. The two operations that it makes are the program's last; nothing else changes but who defines the result.
Result<std::unique_ptr<FusedGroup>> join(const ProductSite& site, LoopProgram& program, bool with_producers);

/// Takes back what `join` did to the program.
void undo_join(const ProductSite& site, LoopProgram& program);
/// Puts the joined group in the place of what it joins.
FusedGroup* keep_join(const ProductSite& site, std::unique_ptr<FusedGroup> group, bool with_producers, CompileState& state);

}  // namespace litz
