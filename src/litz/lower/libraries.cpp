// Matrix products and convolutions: library calls. The mm family writes planned buffers with any strides; convolution gives a
// tensor of its own whose layout follows its input's, so its layout is open, with a wish.
#include "litz/lower/depthwise.h"

namespace litz {

namespace {

LoweringResult lower_matrix_product(Lowering& lowering, const Node& node) {
  return lowering.extern_call(node, {.writes_planned_output = true, .demands_strides = false, .has_exact_outputs = false});
}

LoweringResult lower_library_convolution(Lowering& lowering, const Node& node) {
  std::vector<View> result =
      lowering.extern_call(node, {.writes_planned_output = false, .demands_strides = false, .has_exact_outputs = false});
  if (result[0].rank() == 4) result[0].buffer->layout.wanted_order = {0, 2, 3, 1};
  if (result[0].rank() == 5) result[0].buffer->layout.wanted_order = {0, 2, 3, 4, 1};
  return result;
}

LoweringResult lower_convolution(Lowering& lowering, const Node& node) {
  if (is_small_depthwise(node, lowering.options().most_window_elements)) return lower_depthwise(lowering, node);
  return lower_library_convolution(lowering, node);
}

/// The weights are packed: the library gives a tensor of its own, row-major.
LoweringResult lower_packed_product(Lowering& lowering, const Node& node) {
  return lowering.extern_call(node, {.writes_planned_output = false, .demands_strides = false, .has_exact_outputs = false});
}

/// What only the framework does, with eager's strides; known as such and not counted as a fallback.
LoweringResult lower_library_call(Lowering& lowering, const Node& node) { return lowering.extern_call(node, {}); }

constexpr LoweringEntry kTable[] = {
    {"aten.convolution_backward", lower_library_call},
    {"aten.item", lower_library_call},
    {"aten._local_scalar_dense", lower_library_call},
    {"aten.mm", lower_matrix_product},
    {"aten.addmm", lower_matrix_product},
    {"aten.bmm", lower_matrix_product},
    {"aten.baddbmm", lower_matrix_product},
    {"aten.convolution", lower_convolution},
    {"mkldnn._convolution_pointwise", lower_library_convolution},
    {"mkldnn._linear_pointwise", lower_packed_product},
};

}  // namespace

std::span<const LoweringEntry> library_lowerings() { return kTable; }

}  // namespace litz
