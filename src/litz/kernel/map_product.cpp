// The blocks of a matrix product: the last two outer axes as they are, the summed axis in steps. An axis before them counts the matrices of
// a batch: a program works on one.
#include "litz/kernel/kernel_plan.h"
#include "litz/kernel/product_tile.h"
#include "litz/support/check.h"

namespace litz {

std::string to_text(const ProductTile& t) {
  return fmt::format("{}x{}x{}, {} warps, {} stages{}", t.rows, t.columns, t.depth, t.warps, t.stages, t.programs ? ", descriptors" : "");
}

void map_product(KernelPlan& plan, const ProductTile& tile) {
  const size_t count = plan.axes.size();
  LITZ_CHECK(count == 2 || count == 3, "{}: a product over {} outer axes", plan.group->name, count);
  plan.blocks = {{plan.axes[count - 2], tile.rows}, {plan.axes[count - 1], tile.columns}};
  form_nests(plan);
  for (PlannedNest& nest : plan.nests) {
    if (nest.axes.empty()) continue;
    nest.lane_axis = nest.axes.back();
    nest.step = tile.depth;
  }
}

}  // namespace litz
