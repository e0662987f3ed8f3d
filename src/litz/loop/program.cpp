#include "litz/loop/program.h"

namespace litz {

std::string LoopProgram::unique_name(std::string_view stem) {
  std::string name(stem.empty() ? "buf" : stem);
  int& count = names_[name];
  if (count++ == 0) return name;
  for (;; ++count) {
    std::string candidate = fmt::format("{}_{}", name, count - 1);
    if (names_.emplace(candidate, 1).second) return candidate;
  }
}

Buffer* LoopProgram::new_buffer(std::string_view name, DType dtype, std::vector<Expr> sizes, Device device) {
  auto& buffer = buffers_.emplace_back(std::make_unique<Buffer>());
  buffer->id = static_cast<int>(buffers_.size()) - 1;
  buffer->name = unique_name(name);
  buffer->dtype = dtype;
  buffer->sizes = std::move(sizes);
  buffer->device = std::move(device);
  return buffer.get();
}

Operation* LoopProgram::new_operation(OperationKind kind, std::string_view name) {
  auto& operation = owned_.emplace_back(std::make_unique<Operation>());
  operation->id = static_cast<int>(owned_.size()) - 1;
  operation->kind = kind;
  operation->name = std::string(name);
  operations.push_back(operation.get());
  return operation.get();
}

void LoopProgram::set_outputs(Operation* operation, std::vector<Buffer*> outputs) {
  operation->outputs = std::move(outputs);
  for (size_t k = 0; k < operation->outputs.size(); ++k) {
    operation->outputs[k]->definition = operation;
    operation->outputs[k]->definition_output = static_cast<int>(k);
  }
}

const OpSchema* LoopProgram::schema(const OpSchema& schema) {
  for (const auto& s : schemas_)
    if (s->text == schema.text) return s.get();
  return schemas_.emplace_back(std::make_unique<OpSchema>(schema)).get();
}

ExternTensor whole(ExprContext& context, Buffer* buffer) {
  ExternTensor t;
  t.buffer = buffer;
  t.sizes = buffer->sizes;
  t.dtype = buffer->dtype;
  for (size_t d = 0; d < buffer->sizes.size(); ++d) t.axes.push_back(context.axis(fmt::format("a{}", d), buffer->sizes[d]));
  t.coordinates = t.axes;
  return t;
}

}  // namespace litz
