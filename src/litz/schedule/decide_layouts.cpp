#include "litz/schedule/decide_layouts.h"

#include <algorithm>

#include "litz/loop/dense_strides.h"
#include "litz/symbolic/size_hint.h"

namespace litz {
namespace {

constexpr int64_t kSizeFallback = 64;

/// The order in which the operation walks the largest buffer that it reads: its output then lies in memory as that input does. Nullopt
/// where that buffer is smaller than the output, or does not tell (an axis that it does not move along, a computed index).
std::optional<std::vector<int>> order_of_inputs(const Operation& op, const Buffer& out, ExprContext& context) {
  std::optional<std::vector<Expr>> best;
  int64_t best_bytes = 0;
  for (const Instr& i : op.body.instrs) {
    if (i.op != Op::kLoad || i.buffer->layout.kind == LayoutKind::kFlexible) continue;
    const int64_t bytes = size_hint(product(context, i.buffer->sizes), kSizeFallback) * dtype_bytes(i.dtype);
    if (bytes <= best_bytes) continue;
    Expr offset = context.integer(0);
    for (size_t d = 0; d < i.coordinates.size(); ++d) offset = offset + i.coordinates[d] * i.buffer->layout.strides[d];
    const std::span<const Expr> axes(op.axes.data(), op.rank);
    auto form = linear_form(offset, axes);
    bool tells = form.has_value();
    for (int d = 0; tells && d < op.rank; ++d) {
      if (out.sizes[d].is_integer(1)) continue;
      const Expr step = form->coefficients[d];
      tells = !step.is_integer(0) && (!step.is_integer() || step.integer() > 0);
    }
    if (!tells) continue;
    best = form->coefficients;
    best_bytes = bytes;
  }
  if (!best || best_bytes < size_hint(product(context, out.sizes), kSizeFallback)) return std::nullopt;
  return stride_order(out.sizes, *best);
}

/// A convolution that takes each channel by itself.
bool is_depthwise(const Operation& op) {
  const auto* weight = op.arguments.size() > 1 ? std::get_if<ExternTensor>(&op.arguments[1]) : nullptr;
  return weight && weight->sizes.size() > 2 && weight->sizes[1].is_integer(1);
}

/// A library that works in one dimension order wants all its tensors in that order: the results get it, and arguments of their rank are
/// asked to follow, as a wish where their buffer is free, as a demand where it is not (else the library copies them, or answers in
/// their order).
void let_libraries_choose(LoopProgram& program, const Target& target) {
  for (Operation* op : program.operations) {
    if (op->kind != OperationKind::kExtern || op->writes_planned_output || op->outputs.empty()) continue;
    Layout& wish = op->outputs[0]->layout;
    if (wish.kind != LayoutKind::kFlexible || wish.order_is_binding || wish.wanted_order.empty()) continue;
    if (!target.prefers_channels_last(op->outputs[0]->dtype, is_depthwise(*op)))
      wish.wanted_order = row_major_order(wish.wanted_order.size());
    for (auto& argument : op->arguments)
      for_each_tensor(argument, [&](ExternTensor& t) {
        if (t.sizes.size() != wish.wanted_order.size() || !t.required_strides.empty()) return;
        if (t.buffer->kind == BufferKind::kConstant) return;  // laid out once, or packed so that nobody else can read it
        Layout& layout = t.buffer->layout;
        if (layout.kind == LayoutKind::kFlexible && layout.wanted_order.empty() && t.coordinates == t.axes)
          layout.wanted_order = wish.wanted_order;
        t.required_strides = dense_strides(*program.context, t.sizes, wish.wanted_order);
      });
  }
}

}  // namespace

std::vector<int> stride_order(std::span<const Expr> sizes, std::span<const Expr> strides) {
  std::vector<int> order = row_major_order(sizes.size());
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (sizes[a].is_integer(1) || sizes[b].is_integer(1)) return false;
    if (strides[a].as_integer() && strides[b].as_integer()) return *strides[a].as_integer() > *strides[b].as_integer();
    return size_hint(strides[a], kSizeFallback) > size_hint(strides[b], kSizeFallback);
  });
  return order;
}

bool decide_layouts(LoopProgram& program, const Target& target, bool libraries_choose) {
  ExprContext& context = *program.context;
  if (libraries_choose) let_libraries_choose(program, target);
  bool changed = false;
  for (Operation* op : program.operations)
    for (Buffer* b : op->outputs) {
      if (b->layout.kind != LayoutKind::kFlexible) continue;
      std::vector<int> order = row_major_order(b->sizes.size());
      const bool follows_wish = b->layout.order_is_binding || libraries_choose;
      if (op->kind == OperationKind::kScatter) order = stride_order(op->scatter_base->sizes, op->scatter_base->layout.strides);
      else if (b->layout.wanted_order.size() == b->sizes.size() && follows_wish) order = b->layout.wanted_order;
      else if (op->kind != OperationKind::kExtern)
        if (auto inherited = order_of_inputs(*op, *b, context)) order = *inherited;
      b->layout.kind = LayoutKind::kStrided;
      b->layout.strides = dense_strides(context, b->sizes, order);
      changed = true;
    }
  return changed;
}

}  // namespace litz
