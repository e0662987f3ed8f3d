// The blocks of a matrix product: the two outer axes as they are, the summed axis in steps.
#include "litz/kernel/kernel_plan.h"
#include "litz/kernel/product_tile.h"
#include "litz/support/check.h"

namespace litz {

std::string to_text(const ProductTile& t) {
  return fmt::format("{}x{}x{}, {} warps, {} stages", t.rows, t.columns, t.depth, t.warps, t.stages);
}

void map_product(KernelPlan& plan, const ProductTile& tile) {
  LITZ_CHECK(plan.axes.size() == 2, "{}: a product over {} outer axes", plan.group->name, plan.axes.size());
  plan.blocks = {{plan.axes[0], tile.rows}, {plan.axes[1], tile.columns}};
  form_nests(plan);
  for (PlannedNest& nest : plan.nests) {
    if (nest.axes.empty()) continue;
    nest.lane_axis = nest.axes.back();
    nest.step = tile.depth;
  }
}

}  // namespace litz
