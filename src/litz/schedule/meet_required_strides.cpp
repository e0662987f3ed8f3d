#include "litz/schedule/meet_required_strides.h"

#include <algorithm>
#include <unordered_map>

#include "litz/loop/dense_strides.h"
#include "litz/schedule/decide_layouts.h"

namespace litz {
namespace {

/// Position of each of the buffer's dimensions among the view's axes; empty if the view is more than a permutation.
std::vector<size_t> permutation_of(const ExternTensor& t) {
  std::vector<size_t> at;
  for (Expr c : t.coordinates) {
    auto it = std::find(t.axes.begin(), t.axes.end(), c);
    if (it == t.axes.end()) return {};
    at.push_back(static_cast<size_t>(it - t.axes.begin()));
  }
  std::vector<size_t> sorted = at;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() != t.axes.size() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return {};
  return at;
}

bool meets(const ExternTensor& t, ExprContext& context) {
  Expr offset = context.integer(0);
  for (size_t d = 0; d < t.coordinates.size(); ++d) offset = offset + t.coordinates[d] * t.buffer->layout.strides[d];
  auto form = linear_form(offset, t.axes);
  if (!form) return false;
  if (t.required_strides.empty()) return true;
  for (size_t d = 0; d < t.axes.size(); ++d)
    if (form->coefficients[d] != t.required_strides[d] && !t.sizes[d].is_integer(1) && !t.sizes[d].is_integer(0)) return false;
  return true;
}

}  // namespace

bool prefer_required_strides(LoopProgram& program) {
  bool changed = false;
  for (Operation* op : program.operations)
    for (auto& argument : op->arguments)
      for_each_tensor(argument, [&](ExternTensor& t) {
        Layout& layout = t.buffer->layout;
        if (layout.kind != LayoutKind::kFlexible || layout.order_is_binding || t.required_strides.empty()) return;
        const auto at = permutation_of(t);
        if (at.size() != t.buffer->sizes.size()) return;
        std::vector<Expr> strides;
        for (size_t p : at) strides.push_back(t.required_strides[p]);
        layout.wanted_order = stride_order(t.buffer->sizes, strides);
        layout.order_is_binding = true;
        changed = true;
      });
  return changed;
}

bool meet_required_strides(LoopProgram& program) {
  ExprContext& context = *program.context;
  bool changed = false;
  std::vector<Operation*> order;
  const std::vector<Operation*> operations = program.operations;
  for (Operation* op : operations) {
    for (auto& argument : op->arguments)
      for_each_tensor(argument, [&](ExternTensor& t) {
        if (meets(t, context)) return;
        Buffer* copy = program.new_buffer(t.buffer->name + "_strided", t.buffer->dtype, t.sizes, t.buffer->device);
        copy->layout.kind = LayoutKind::kStrided;
        copy->layout.strides =
            t.required_strides.empty() ? dense_strides(context, t.sizes, row_major_order(t.sizes.size())) : t.required_strides;
        Operation* make = program.new_operation(OperationKind::kPointwise, op->name + "_copy");
        BodyBuilder builder(context);
        Substitution map;
        for (size_t d = 0; d < t.axes.size(); ++d) {
          make->axes.push_back(context.axis("i", t.sizes[d]));
          map.emplace_back(t.axes[d], make->axes.back());
        }
        make->rank = static_cast<int>(make->axes.size());
        builder.yield(builder.load(t.buffer, substitute(t.coordinates, map)));
        make->body = builder.take();
        make->sources = op->sources;
        program.set_outputs(make, {copy});
        order.push_back(make);
        const std::vector<Expr> required = t.required_strides;
        for (Buffer* b : op->outputs)
          if (b->layout.base == t.buffer) b->layout.base = copy;
        t = whole(context, copy);
        t.required_strides = required;
        changed = true;
      });
    order.push_back(op);
  }
  program.operations = std::move(order);
  return changed;
}

}  // namespace litz
