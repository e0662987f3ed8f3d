#include "litz/schedule/own_scatter_bases.h"

#include <algorithm>
#include <unordered_map>

#include "litz/loop/dependences.h"

namespace litz {
namespace {

/// How many operations and outputs read each buffer.
std::unordered_map<const Buffer*, int> count_readers(const LoopProgram& program) {
  std::unordered_map<const Buffer*, int> readers;
  auto note = [&](const Buffer* b) { ++readers[b]; };
  for (const Operation* op : program.operations) {
    for_each_read(*op, note);
    for (const Buffer* b : op->outputs)
      if (b->version_of) note(b->version_of);
  }
  for_each_returned(program, note);
  for (const auto& m : program.mutations) ++readers[m.last_version];
  return readers;
}

bool same_layout_possible(const Buffer& base, const Buffer& result) {
  if (base.layout.kind == LayoutKind::kFlexible) return true;
  return base.layout.kind == LayoutKind::kStrided && result.layout.kind == LayoutKind::kStrided &&
         base.layout.strides == result.layout.strides;
}

}  // namespace

bool own_scatter_bases(LoopProgram& program) {
  auto readers = count_readers(program);
  bool changed = false;
  std::vector<Operation*> order;
  const std::vector<Operation*> operations = program.operations;
  for (Operation* op : operations) {
    if (op->kind == OperationKind::kScatter) {
      Buffer* base = op->scatter_base;
      Buffer* result = op->outputs[0];
      const bool is_own = base->kind == BufferKind::kComputed && base->definition->kind != OperationKind::kExtern && !base->version_of &&
                          !base->is_promised && readers[base] == 1 && same_layout_possible(*base, *result);
      if (!is_own) {
        Buffer* copy = program.new_buffer(result->name + "_base", base->dtype, base->sizes, base->device);
        Operation* make = program.new_operation(OperationKind::kPointwise, op->name + "_base");
        BodyBuilder builder(*program.context);
        for (Expr size : base->sizes) make->axes.push_back(program.context->axis("i", size));
        make->rank = static_cast<int>(make->axes.size());
        builder.yield(builder.load(base, make->axes));
        make->body = builder.take();
        make->sources = op->sources;
        program.set_outputs(make, {copy});
        op->scatter_base = base = copy;
        order.push_back(make);
        changed = true;
      }
    }
    order.push_back(op);
  }
  // The last one first: a scatter into the result of another one decides for both.
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    if ((*op)->kind != OperationKind::kScatter) continue;
    Layout &base = (*op)->scatter_base->layout, &result = (*op)->outputs[0]->layout;
    if (base.kind == LayoutKind::kFlexible && result.kind == LayoutKind::kStrided) base = result;
  }
  program.operations = std::move(order);
  return changed;
}

}  // namespace litz
