#pragma once
// What an operation reads and writes, with coordinates over its axes (and over symbols that its body computes).
#include <vector>

#include "litz/loop/program.h"

namespace litz {

struct Access {
  Buffer* buffer = nullptr;
  std::vector<Expr> coordinates;  // kExtern: over the view's own axes
  std::vector<Expr> extern_axes;  // kExtern: those axes
  bool is_predicated = false;     // may touch nothing
  bool is_indirect = false;       // a coordinate depends on a value loaded from memory
  friend bool operator==(const Access&, const Access&) = default;
};

struct Dependences {
  std::vector<Access> reads;  // without repeats, in order of first use; a scatter reads its base
  std::vector<Access> writes;
  std::vector<Expr> symbols;  // sizes and unbacked symbols that it needs, without repeats
};
Dependences dependences(const Operation& operation);

/// Calls f(Buffer*) for the buffer, and for those whose storage it looks at if it is what a view op gave.
template <typename F>
void for_each_storage(Buffer* buffer, F&& f) {
  for (; buffer; buffer = buffer->layout.base) f(buffer);
}
/// Calls f(Buffer*) for what the operation reads otherwise than through its body: a scatter's base, tensor arguments, and the storage
/// that they look at. Repeats are not dropped.
template <typename F>
void for_each_memory_read(const Operation& operation, F&& f) {
  if (operation.scatter_base) for_each_storage(operation.scatter_base, f);
  for (const ExternArgument& a : operation.arguments) for_each_tensor(a, [&](const ExternTensor& t) { for_each_storage(t.buffer, f); });
}
/// The same and the loads of the body.
template <typename F>
void for_each_read(const Operation& operation, F&& f) {
  for (const Instr& i : operation.body.instrs)
    if (i.op == Op::kLoad) for_each_storage(i.buffer, f);
  for_each_memory_read(operation, f);
}
/// Calls f(Buffer*) for the tensors that the program returns.
template <typename F>
void for_each_returned(const LoopProgram& program, F&& f) {
  for (const ProgramOutput& out : program.outputs)
    if (auto* tensor = std::get_if<ExternTensor>(&out.value)) f(tensor->buffer);
}

}  // namespace litz
