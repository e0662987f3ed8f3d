#include "litz/runtime/torch_framework.h"

#include "litz/runtime/executor.h"
#include "litz/runtime/extern_call.h"

namespace litz::runtime {
namespace {

struct PreparedExtern {
  const Program* program;
  const ExternLine* line;
  NativeCall native;
  void* host = nullptr;
  bool host_was_tried = false;
  bool may_be_repeated = false;
};

const TorchFramework& self(void* context) { return *static_cast<const TorchFramework*>(context); }
const TorchApi& functions(void* context) { return self(context).api(); }

/// Running it again changes nothing but its own result: it writes only a tensor given as out=, or nothing.
bool may_be_repeated(const Callee& callee) {
  const size_t dot = callee.op.rfind('.');
  const std::string overload = dot == std::string::npos ? "" : callee.op.substr(dot + 1);
  return !callee.is_mutating || overload == "out" || overload.ends_with("_out");
}

void* prepare_extern(void* context, const Program& program, const ExternLine& line, std::string* reason) {
  const TorchFramework& framework = self(context);
  const HostFunctions& host = framework.host();
  auto prepared = std::make_unique<PreparedExtern>(PreparedExtern{&program, &line});
  prepared->may_be_repeated = may_be_repeated(program.callees.at(line.callee));
  if (framework.tiers.typed) prepared->native = typed_call(framework.api(), program, line);
  if (!prepared->native && framework.tiers.dispatcher) prepared->native = dispatcher_call(framework.api(), program, line, reason);
  if (!prepared->native) {
    if (!framework.tiers.host || !host.prepare) return nullptr;
    prepared->host_was_tried = true;
    prepared->host = host.prepare(host.context, program, line, reason);
    if (!prepared->host) return nullptr;
  }
  return prepared.release();
}

int call_extern(void* context, void* opaque, CallFrame& frame) {
  const HostFunctions& host = self(context).host();
  auto* prepared = static_cast<PreparedExtern*>(opaque);
  if (prepared->native) {
    if (prepared->native(frame) == 0) [[likely]]
      return 0;
    if (!host.prepare || !prepared->may_be_repeated) return 1;
    if (!prepared->host_was_tried) {
      std::string reason;
      prepared->host = host.prepare(host.context, *prepared->program, *prepared->line, &reason);
      prepared->host_was_tried = true;
    }
    if (!prepared->host) return 1;
  }
  return host.call(host.context, prepared->host, frame);
}

void destroy_extern(void* context, void* opaque) {
  auto* prepared = static_cast<PreparedExtern*>(opaque);
  if (prepared->host) self(context).host().destroy(self(context).host().context, prepared->host);
  delete prepared;
}

// Bits of a token of enter_extern_mode: bit 0: something was changed; bit 1: gradient mode was on; the rest: autocast's token.
int64_t enter_extern_mode(void* context) {
  const TorchFramework& framework = self(context);
  const HostFunctions& host = framework.host();
  int64_t token = 0;
  if (framework.api().aoti_torch_grad_mode_is_enabled()) {
    framework.api().aoti_torch_grad_mode_set_enabled(false);
    token |= 3;
  }
  if (host.suspend_autocast)
    if (const int64_t autocast = host.suspend_autocast(host.context)) token |= 1 | autocast << 2;
  return token;
}

void leave_extern_mode(void* context, int64_t token) {
  const HostFunctions& host = self(context).host();
  if (token & 2) self(context).api().aoti_torch_grad_mode_set_enabled(true);
  if (token >> 2) host.restore_autocast(host.context, token >> 2);
}

}  // namespace

Framework TorchFramework::table() {
  Framework f;
  f.context = this;
  f.device_type = [](void* c, const char* name) { return functions(c).device_type(name); };
  f.empty_strided = [](void* c, int32_t rank, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t type, int32_t index,
                       void** tensor) { return functions(c).aoti_torch_empty_strided(rank, sizes, strides, dtype, type, index, tensor); };
  f.data_pointer = [](void* c, void* tensor, void** data) { return functions(c).aoti_torch_get_data_ptr(tensor, data); };
  f.release = [](void* c, void* tensor) { functions(c).aoti_torch_delete_tensor_object(tensor); };
  f.as_strided = [](void* c, void* tensor, int32_t rank, const int64_t* sizes, const int64_t* strides, int64_t offset, void** view) {
    return functions(c).aoti_torch__reinterpret_tensor(tensor, rank, sizes, strides, offset, view);
  };
  f.from_memory = [](void* c, void* data, int32_t rank, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t type,
                     int32_t index, void** tensor) {
    return functions(c).aoti_torch_create_tensor_from_blob(data, rank, sizes, strides, 0, dtype, type, index, tensor);
  };
  f.describe = [](void* c, void* tensor, int32_t* rank, const int64_t** sizes, const int64_t** strides, int64_t* offset) {
    int64_t wide = 0, *s = nullptr, *t = nullptr;
    const TorchApi& a = functions(c);
    const int failed = a.aoti_torch_get_dim(tensor, &wide) || a.aoti_torch_get_sizes(tensor, &s) || a.aoti_torch_get_strides(tensor, &t) ||
                       a.aoti_torch_get_storage_offset(tensor, offset);
    *rank = static_cast<int32_t>(wide);
    *sizes = s;
    *strides = t;
    return failed;
  };
  f.copy = [](void* c, void* destination, void* source) { return functions(c).aoti_torch_copy_(destination, source, 0); };
  if (host_.argument_tensor)
    f.argument_tensor = [](void* c, void* object, void** tensor) {
      return self(c).host().argument_tensor(self(c).host().context, object, tensor);
    };
  else  // arguments are tensor handles
    f.argument_tensor = [](void* c, void* object, void** tensor) { return functions(c).aoti_torch_new_tensor_handle(object, tensor); };
  if (host_.drop_argument) f.drop_argument = [](void* c, void* object) { self(c).host().drop_argument(self(c).host().context, object); };
  f.prepare_extern = prepare_extern;
  f.call_extern = call_extern;
  f.destroy_extern = destroy_extern;
  f.enter_extern_mode = enter_extern_mode;
  f.leave_extern_mode = leave_extern_mode;
  f.parallel_for = [](void* c, int64_t range, int64_t grain, void (*body)(void*, int64_t, int64_t), void* argument) {
    struct Job {
      void (*body)(void*, int64_t, int64_t);
      void* argument;
    } job{body, argument};
    functions(c).torch_parallel_for(
        0, range, grain,
        [](int64_t begin, int64_t end, void* context) {
          const Job& job = *static_cast<Job*>(context);
          if (begin < end) job.body(job.argument, begin, end);
        },
        &job);
  };
  f.thread_count = [](void* c) {
    uint32_t n = 1;
    functions(c).torch_get_num_threads(&n);
    return static_cast<int32_t>(n);
  };
  f.thread_index = [](void* c) {
    uint32_t i = 0;
    functions(c).torch_get_thread_idx(&i);
    return static_cast<int32_t>(i);
  };
  if (host_.suspend) {
    f.suspend_host = [](void* c) { return self(c).host().suspend(self(c).host().context); };
    f.resume_host = [](void* c, void* token) { self(c).host().resume(self(c).host().context, token); };
  }
  f.error_message = [](void* c) {
    const TorchApi& a = functions(c);
    return a.torch_exception_get_what_without_backtrace ? a.torch_exception_get_what_without_backtrace() : "a call into torch failed";
  };
  return f;
}

}  // namespace litz::runtime
