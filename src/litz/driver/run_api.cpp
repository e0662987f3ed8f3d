// Running programs through the C API, and the host language's part of the framework.
#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "litz/driver/api_guard.h"
#include "litz/driver/graph_handle.h"

namespace litz {
namespace {

using runtime::CallArgument;
using runtime::CallOutput;

// The C structs are the executor's own, so that a call copies nothing.
static_assert(sizeof(litz_call_argument) == sizeof(CallArgument) &&
              offsetof(litz_call_argument, object) == offsetof(CallArgument, object) &&
              offsetof(litz_call_argument, data) == offsetof(CallArgument, data) &&
              offsetof(litz_call_argument, sizes) == offsetof(CallArgument, sizes) &&
              offsetof(litz_call_argument, strides) == offsetof(CallArgument, strides) &&
              offsetof(litz_call_argument, rank) == offsetof(CallArgument, rank) &&
              offsetof(litz_call_argument, number) == offsetof(CallArgument, number));
static_assert(sizeof(litz_call_output) == sizeof(CallOutput) && offsetof(litz_call_output, kind) == offsetof(CallOutput, kind) &&
              offsetof(litz_call_output, tensor) == offsetof(CallOutput, tensor) &&
              offsetof(litz_call_output, index) == offsetof(CallOutput, index) &&
              offsetof(litz_call_output, integer) == offsetof(CallOutput, integer) &&
              offsetof(litz_call_output, number) == offsetof(CallOutput, number));
static_assert(int(LITZ_OUT_BOOL) == int(CallOutput::kBool) && int(LITZ_OUT_SAME_AS) == int(CallOutput::kSameAs));
static_assert(int(LITZ_RUN_ERROR) == int(runtime::RunStatus::kRuntimeError) &&
              int(LITZ_RUN_INDEX_ERROR) == int(runtime::RunStatus::kIndexError));

/// An extern argument as the C API's flat list.
void flatten(const runtime::Program& program, const runtime::ExternArg& argument, std::vector<litz_argument>& out) {
  litz_argument a{};
  if (auto* b = std::get_if<bool>(&argument)) a = {LITZ_ARG_BOOL, *b};
  else if (auto* i = std::get_if<int64_t>(&argument)) a = {LITZ_ARG_INT, *i};
  else if (auto* d = std::get_if<double>(&argument)) a = {LITZ_ARG_FLOAT, 0, *d};
  else if (auto* s = std::get_if<std::string>(&argument)) a = {LITZ_ARG_STRING, 0, 0, 0, s->c_str()};
  else if (auto* n = std::get_if<runtime::NumberArg>(&argument)) a = {n->is_float ? LITZ_ARG_FLOAT_EXPR : LITZ_ARG_EXPR, n->entry};
  else if (auto* t = std::get_if<runtime::TensorArg>(&argument)) a = {LITZ_ARG_VALUE, t->slot};
  else if (auto* t = std::get_if<DType>(&argument)) a = {LITZ_ARG_DTYPE, dtype_torch_code(*t)};
  else if (auto* t = std::get_if<runtime::DeviceId>(&argument))
    a = {LITZ_ARG_DEVICE, t->index, 0, 0, program.device_types.at(t->type).c_str()};
  else if (auto* c = std::get_if<runtime::ComplexArg>(&argument)) a = {LITZ_ARG_COMPLEX, 0, c->real, c->imaginary};
  else if (auto* m = std::get_if<runtime::MemoryFormatArg>(&argument)) a = {LITZ_ARG_MEMORY_FORMAT, m->torch_code};
  else if (auto* list = std::get_if<runtime::ExternArgs>(&argument)) {
    out.push_back({LITZ_ARG_LIST, static_cast<int64_t>(list->size())});
    for (const runtime::ExternArg& element : *list) flatten(program, element, out);
    return;
  }
  out.push_back(a);
}

const litz_host& host_of(void* context) { return static_cast<litz_framework*>(context)->host; }

runtime::HostFunctions adapt(litz_framework* framework) {
  const litz_host& host = framework->host;
  runtime::HostFunctions made;
  made.context = framework;
  if (host.argument_tensor)
    made.argument_tensor = [](void* c, void* object, void** tensor) { return host_of(c).argument_tensor(object, tensor); };
  if (host.drop_argument) made.drop_argument = [](void* c, void* object) { host_of(c).drop_argument(object); };
  if (host.prepare) {
    made.prepare = [](void* c, const runtime::Program& program, const runtime::ExternLine& line, std::string* reason) -> void* {
      std::vector<litz_argument> flat;
      for (const runtime::ExternArg& argument : line.arguments) flatten(program, argument, flat);
      const runtime::Callee& callee = program.callees.at(line.callee);
      char text[512] = "";
      void* prepared = host_of(c).prepare(callee.op.c_str(), callee.schema.c_str(), flat.data(), flat.size(), text, sizeof text);
      if (!prepared) *reason = text;
      return prepared;
    };
    made.call = [](void* c, void* prepared, runtime::CallFrame& frame) {
      litz_frame wrapped{frame};
      return host_of(c).call(prepared, &wrapped);
    };
    made.destroy = [](void* c, void* prepared) { host_of(c).destroy(prepared); };
  }
  if (host.suspend_autocast) {
    made.suspend_autocast = [](void* c) { return host_of(c).suspend_autocast(); };
    made.restore_autocast = [](void* c, int64_t token) { host_of(c).restore_autocast(token); };
  }
  if (host.suspend) {
    made.suspend = [](void* c) { return host_of(c).suspend(); };
    made.resume = [](void* c, void* token) { host_of(c).resume(token); };
  }
  return made;
}

}  // namespace
}  // namespace litz

extern "C" {

litz_program_shape litz_program_get_shape(const litz_program* program) {
  const litz::runtime::Program& p = *program->compiled->program;
  return {p.argument_count, static_cast<int32_t>(p.constants.size()), static_cast<int32_t>(p.outputs.size())};
}

int32_t litz_program_constant(const litz_program* program, int32_t place) {
  return program->compiled->constants.at(static_cast<size_t>(place));
}

litz_argument_need litz_program_argument_need(const litz_program* program, int32_t argument) {
  using namespace litz::runtime;
  const Program& p = *program->compiled->program;
  const Slot slot = p.argument_slots.at(static_cast<size_t>(argument));
  if (slot < 0) return LITZ_NEEDS_NUMBER;
  for (const SymbolSource& symbol : p.symbols)
    if (symbol.argument == argument) return LITZ_NEEDS_MEMORY;
  for (const Line& line : p.lines) {
    if (auto* kernel = std::get_if<KernelLine>(&line))
      if (std::find(kernel->tensors.begin(), kernel->tensors.end(), slot) != kernel->tensors.end()) return LITZ_NEEDS_MEMORY;
    if (auto* view = std::get_if<ViewLine>(&line); view && view->base == slot) return LITZ_NEEDS_MEMORY;
  }
  return LITZ_NEEDS_OBJECT;
}

litz_run_status litz_program_run(litz_program* program, litz_call_argument* arguments, litz_call_output* outputs, int owns_arguments) {
  try {
    std::string message;
    const auto status = program->executor->run(reinterpret_cast<litz::runtime::CallArgument*>(arguments),
                                               reinterpret_cast<litz::runtime::CallOutput*>(outputs), &message, owns_arguments != 0);
    if (status != litz::runtime::RunStatus::kOk) [[unlikely]] {
      const litz::runtime::Framework& f = program->executor->framework();
      if (message.empty() && status == litz::runtime::RunStatus::kFrameworkError) message = f.error_message(f.context);
      litz::api_error() = message;
    }
    return static_cast<litz_run_status>(status);
  } catch (const std::exception& error) {
    litz::api_error() = error.what();
    return LITZ_RUN_ERROR;
  }
}

void* litz_frame_tensor(litz_frame* frame, int64_t slot) { return frame->frame.tensor(static_cast<litz::runtime::Slot>(slot)); }
int64_t litz_frame_number(litz_frame* frame, int64_t entry) { return frame->frame.number(static_cast<litz::runtime::TableIndex>(entry)); }
int litz_frame_set_result(litz_frame* frame, size_t i, void* tensor) { return frame->frame.set_result(i, tensor) ? 0 : 1; }
void litz_frame_set_number_result(litz_frame* frame, size_t i, int64_t value) { frame->frame.set_number_result(i, value); }

int litz_framework_create(const char* libtorch_cpu, const litz_host* host, litz_framework** framework) {
  return litz::guarded([&] {
    auto api = litz::runtime::TorchApi::load(libtorch_cpu);
    if (!api) litz::user_error("{}", api.reason());
    auto* made = new litz_framework{host ? *host : litz_host{}, nullptr};
    made->torch = std::make_unique<litz::runtime::TorchFramework>(std::move(api.value()), litz::adapt(made));
    return *framework = made, LITZ_OK;
  });
}

void litz_framework_set_tiers(litz_framework* framework, int typed, int dispatcher, int host) {
  framework->torch->tiers = {typed != 0, dispatcher != 0, host != 0};
}

}  // extern "C"
