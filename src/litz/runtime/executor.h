#pragma once
// Runs a Program over a Framework. One Executor serves any number of threads at once: what a call needs (slots, table of numbers,
// scratch) is a CallState that the call borrows, so that a repeated call allocates nothing but its tensors.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "litz/runtime/framework.h"
#include "litz/runtime/program.h"
#include "litz/support/check.h"

namespace litz::runtime {

/// An argument as the caller reads it: a tensor's memory, or a number.
struct CallArgument {
  void* object = nullptr;  // what Framework::argument_tensor takes; borrowed
  void* data = nullptr;    // first element, storage offset applied
  const int64_t* sizes = nullptr;
  const int64_t* strides = nullptr;  // elements
  int32_t rank = 0;
  int64_t number = 0;
};

struct CallOutput {
  enum Kind : uint8_t { kNone, kTensor, kArgument, kSameAs, kInteger, kFloat, kBool } kind = kNone;
  void* tensor = nullptr;  // kTensor: owned by the caller
  int32_t index = 0;       // kArgument: position of the argument; kSameAs: position of an earlier output
  int64_t integer = 0;
  double number = 0;
};

enum class RunStatus : uint8_t { kOk, kFrameworkError, kIndexError, kZeroDivisionError, kRuntimeError };

class CallState;

/// What an extern call sees of the running program.
class CallFrame {
 public:
  CallFrame(const class Executor& executor, CallState& state, const CallArgument* arguments, const ExternLine* line)
      : executor_(executor),
        state_(state),
        arguments_(arguments),
        line_(line) {}
  /// The tensor in a slot, owned by the slot; null after a failure of the framework.
  void* tensor(Slot slot);
  int64_t number(TableIndex entry) const;
  /// Gives result i of the line; the tensor then belongs to the slot, or is released if nobody uses it. False after a failure.
  bool set_result(size_t i, void* tensor);
  void set_number_result(size_t i, int64_t value);
  const ExternLine& line() const { return *line_; }

 private:
  const Executor& executor_;
  CallState& state_;
  const CallArgument* arguments_;
  const ExternLine* line_;
};

class Executor {
 public:
  static Result<std::unique_ptr<Executor>> create(std::shared_ptr<const Program> program, const Framework& framework);
  ~Executor();

  /// `arguments`: program.argument_slots.size() of them, constants included. `outputs`: program.outputs.size(). After a failure the
  /// outputs are empty and *message says why (for kFrameworkError the framework may hold an exception instead).
  /// owns_arguments: each tensor is given up (Framework::drop_argument) behind the last line that reads it, and its object set to null;
  /// what is left then is the caller's to give up.
  RunStatus run(CallArgument* arguments, CallOutput* outputs, std::string* message, bool owns_arguments = false);

  const Program& program() const { return *program_; }
  const Framework& framework() const { return framework_; }

 private:
  friend class CallFrame;
  std::string profile_text() const;
  Executor(std::shared_ptr<const Program> program, const Framework& framework) : program_(std::move(program)), framework_(framework) {}
  void find_late_specs();
  CallState* borrow();
  void give_back(CallState* state);
  RunStatus run_lines(CallState& state, CallArgument* arguments, std::string* message, bool owns_arguments) const;
  RunStatus run_line(const Line& line, CallState& state, const CallArgument* arguments, std::string* message) const;
  RunStatus run_timed(size_t line, CallState& state, const CallArgument* arguments, std::string* message) const;
  void drop_arguments(size_t line, CallState& state, CallArgument* arguments) const;
  void find_last_uses();
  RunStatus run_kernel(CallState& state, const KernelLine& line, const int64_t* numbers, std::string* message) const;
  RunStatus collect_outputs(CallState& state, const CallArgument* arguments, CallOutput* outputs) const;
  bool read_symbols(CallState& state, const CallArgument* arguments) const;
  /// False, with the reason, where a number does not fit 64 bits.
  bool choose_numbers(CallState& state, std::string* message) const;

  std::shared_ptr<const Program> program_;
  mutable std::vector<double> line_seconds_;  // program.profile: per line, over all calls
  mutable std::atomic<int64_t> calls_{0};
  Framework framework_;
  std::vector<int32_t> device_codes_;  // per program.device_types
  std::vector<void*> prepared_;        // per extern line, in order
  std::vector<bool> spec_is_late_;
  std::vector<bool> is_read_by_lines_;               // per slot: kernels, views or copies read its memory
  std::vector<std::vector<int32_t>> dropped_after_;  // per line: positions of the arguments that it reads last
  bool numbers_change_ = false;                      // table entries are written during a run
  size_t kernel_numbers_ = 0;                        // of all kernel lines together
  size_t most_pointers_ = 0;                         // of one kernel line, scratch and error included
  std::atomic<CallState*> spare_ = nullptr;
  mutable std::mutex mutex_;  // guards spares_
  std::vector<CallState*> spares_;
};

}  // namespace litz::runtime
