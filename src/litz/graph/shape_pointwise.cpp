#include <algorithm>
#include <numeric>

#include "litz/graph/shape_rules.h"
#include "litz/support/check.h"

namespace litz {
namespace {

/// Order of dimensions, innermost first, in which TensorIterator lays out a fresh result: by the operands' strides, the first
/// operand that tells two dimensions apart decides; ties keep the logical order.
std::vector<int> iteration_order(std::span<const TensorMeta* const> operands, const std::vector<Expr>& sizes) {
  const int rank = static_cast<int>(sizes.size());
  std::vector<int> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  // 1: a is inside b's place (must swap), -1: in order, 0: cannot tell.
  auto compare = [&](int a, int b) {
    for (const TensorMeta* m : operands) {
      const int shift = rank - static_cast<int>(m->rank());
      if (a < shift || b < shift) continue;
      const auto sa = value_at_capture(m->strides[a - shift]), sb = value_at_capture(m->strides[b - shift]);
      const bool a_broadcasts = m->sizes[a - shift].is_integer(1) && !sizes[a].is_integer(1);
      const bool b_broadcasts = m->sizes[b - shift].is_integer(1) && !sizes[b].is_integer(1);
      if (!sa || !sb || a_broadcasts || b_broadcasts || *sa == 0 || *sb == 0) continue;
      if (*sa < *sb) return -1;
      if (*sa > *sb) return 1;
      const auto na = value_at_capture(sizes[a]), nb = value_at_capture(sizes[b]);
      if (na && nb && *na > *nb) return 1;
    }
    return 0;
  };
  for (int i = 1; i < rank; ++i) {
    int at = i;
    for (int j = i - 1; j >= 0; --j) {
      const int c = compare(order[j], order[at]);
      if (c > 0) {
        std::swap(order[j], order[at]);
        at = j;
      } else if (c < 0) {
        break;
      }
    }
  }
  return order;
}

}  // namespace

std::vector<TensorMeta> shape_broadcast(const RuleCall& call) {
  std::vector<const TensorMeta*> operands;
  for (const Argument& a : call.arguments)
    if (a.is<Value>()) operands.push_back(&a.as<Value>().meta());
  if (operands.empty()) user_error("{}: expected a tensor among the operands", call.op.name);
  std::vector<std::vector<Expr>> shapes;
  for (const TensorMeta* m : operands) shapes.push_back(m->sizes);
  TensorMeta result;
  result.dtype = call.result_dtype();
  result.sizes = broadcast_shapes(call.context, shapes);
  // A tensor without dimensions may live on another device.
  result.device = operands[0]->device;
  for (const TensorMeta* m : operands)
    if (m->rank() > 0) {
      result.device = m->device;
      break;
    }
  bool all_contiguous = true, all_alike = true;
  for (const TensorMeta* m : operands) {
    if (m->sizes != result.sizes) {
      all_alike = all_contiguous = false;
      break;
    }
    all_contiguous &= is_contiguous(*m);
  }
  if (all_alike && all_contiguous) {
    result.strides = contiguous_strides(call.context, result.sizes);
    return {result};
  }
  result.strides.resize(result.sizes.size());
  Expr running = call.context.integer(1);
  for (int d : iteration_order(operands, result.sizes)) {
    result.strides[d] = running;
    const Expr n = result.sizes[d];
    if (!n.is_integer(0)) running = running * (n.range().lower >= 1 ? n : max(n, call.context.integer(1)));
  }
  return {result};
}

std::vector<TensorMeta> shape_same_shape(const RuleCall& call) {
  const TensorMeta& first = call.first_tensor();
  TensorMeta m = call.fresh(call.result_dtype(), first.sizes);
  // A copy keeps a dense layout.
  if (call.op.name == "aten.clone" || call.op.name == "prims.convert_element_type") {
    const TensorMeta* operand = &first;
    Expr running = call.context.integer(1);
    const bool contiguous = call.op.argument_index("memory_format") >= 0 && call.argument("memory_format").is<MemoryFormat>() &&
                            call.argument("memory_format").as<MemoryFormat>() == MemoryFormat::kContiguous;
    if (!contiguous)
      for (int d : iteration_order(std::span(&operand, 1), m.sizes)) {
        m.strides[d] = running;
        if (!m.sizes[d].is_integer(0)) running = running * m.sizes[d];
      }
  }
  return {m};
}

std::vector<TensorMeta> shape_same_pair(const RuleCall& call) {
  TensorMeta values = call.fresh(call.first_tensor().dtype, call.first_tensor().sizes);
  TensorMeta indices = values;
  indices.dtype = DType::kInt64;
  return {values, indices};
}

std::vector<TensorMeta> shape_device_copy(const RuleCall& call) {
  std::vector<TensorMeta> result = shape_same_shape(call);
  if (call.argument("device").is<Device>()) result[0].device = call.argument("device").as<Device>();
  return result;
}

}  // namespace litz
