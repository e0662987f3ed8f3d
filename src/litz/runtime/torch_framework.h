#pragma once
// The Framework over PyTorch. An op is called in the first way that takes it, chosen when the program is prepared: a typed function of
// torch's C interface, the stable dispatcher call, or the host language (torch.ops through CPython). After a failure in the first two
// the op is called once more through the host, so that the user gets eager's own exception; not if it would write twice.
#include <memory>
#include <string>

#include "litz/runtime/framework.h"
#include "litz/runtime/torch_api.h"

namespace litz::runtime {

/// What the host language adds; every function may be null (a process without Python).
struct HostFunctions {
  void* context = nullptr;
  int (*argument_tensor)(void* context, void* object, void** tensor) = nullptr;
  void (*drop_argument)(void* context, void* object) = nullptr;
  void* (*prepare)(void* context, const Program& program, const ExternLine& line, std::string* reason) = nullptr;
  int (*call)(void* context, void* prepared, CallFrame& frame) = nullptr;
  void (*destroy)(void* context, void* prepared) = nullptr;
  /// Switches autocast off if it is on: a token for `restore_autocast`, 0 if nothing was changed.
  int64_t (*suspend_autocast)(void* context) = nullptr;
  void (*restore_autocast)(void* context, int64_t token) = nullptr;
  void* (*suspend)(void* context) = nullptr;
  void (*resume)(void* context, void* token) = nullptr;
};

/// Which ways of calling may be used; tests restrict them.
struct ExternTiers {
  bool typed = true;
  bool dispatcher = true;
  bool host = true;
};

class TorchFramework {
 public:
  TorchFramework(std::unique_ptr<TorchApi> api, const HostFunctions& host) : api_(std::move(api)), host_(host) {}
  /// The table, valid as long as this object.
  Framework table();
  const TorchApi& api() const { return *api_; }
  const HostFunctions& host() const { return host_; }
  ExternTiers tiers;

 private:
  std::unique_ptr<TorchApi> api_;
  HostFunctions host_;
};

}  // namespace litz::runtime
