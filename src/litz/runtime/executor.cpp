#include "litz/runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>

#include "litz/runtime/call_state.h"

namespace litz::runtime {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

constexpr int kMaxRank = 64;

/// Sizes and strides of a spec as the framework wants them.
struct Shape {
  int32_t rank = 0;
  int64_t sizes[kMaxRank];
  int64_t strides[kMaxRank];
  Shape(const TensorSpec& spec, const int64_t* table) : rank(static_cast<int32_t>(spec.sizes.size())) {
    for (int32_t d = 0; d < rank; d++) {
      sizes[d] = table[spec.sizes[d]];
      strides[d] = table[spec.strides[d]];
    }
  }
};

void release_slot(const Framework& framework, SlotState& slot) {
  if (slot.tensor) framework.release(framework.context, slot.tensor);
  slot.tensor = nullptr;
  slot.data = nullptr;
}

bool has_sizes(const Shape& shape, int32_t rank, const int64_t* sizes) {
  return rank == shape.rank && std::equal(sizes, sizes + rank, shape.sizes);
}

/// Same element order: dimensions of one element may have any stride, an empty tensor any strides.
bool has_strides(const Shape& shape, const int64_t* strides) {
  bool same = true;
  for (int32_t d = 0; d < shape.rank; d++) {
    if (shape.sizes[d] == 0) return true;
    same &= shape.sizes[d] == 1 || strides[d] == shape.strides[d];
  }
  return same;
}

}  // namespace

Result<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<const Program> program, const Framework& framework) {
  std::unique_ptr<Executor> executor(new Executor(std::move(program), framework));
  const Program& p = *executor->program_;
  for (const TensorSpec& spec : p.specs)
    if (spec.sizes.size() > kMaxRank) return unsupported("a tensor of rank {} (at most {})", spec.sizes.size(), kMaxRank);
  for (const std::string& type : p.device_types) {
    executor->device_codes_.push_back(framework.device_type(framework.context, type.c_str()));
    if (executor->device_codes_.back() < 0) return unsupported("the framework knows no device '{}'", type);
  }
  for (const Line& line : p.lines) {
    if (auto* kernel = std::get_if<KernelLine>(&line)) {
      LITZ_CHECK(p.kernels.at(kernel->kernel).function || p.kernels[kernel->kernel].launch, "kernel {} has no code",
                 p.kernels[kernel->kernel].name);
      executor->kernel_numbers_ += kernel->numbers.size();
      executor->most_pointers_ = std::max(executor->most_pointers_, kernel->tensors.size() + 2);
    } else if (auto* call = std::get_if<ExternLine>(&line)) {
      std::string reason;
      void* prepared = framework.prepare_extern ? framework.prepare_extern(framework.context, p, *call, &reason) : nullptr;
      if (!prepared)
        return unsupported("{} cannot be called: {}", p.callees.at(call->callee).op, reason.empty() ? "there is no framework" : reason);
      executor->prepared_.push_back(prepared);
      executor->numbers_change_ |= !call->number_results.empty();
    } else if (std::holds_alternative<ReadNumberLine>(line)) {
      executor->numbers_change_ = true;
    }
  }
  executor->find_late_specs();
  executor->find_last_uses();
  return executor;
}

namespace {

void add_slots(const ExternArg& argument, std::vector<Slot>& slots) {
  if (auto* tensor = std::get_if<TensorArg>(&argument)) slots.push_back(tensor->slot);
  if (auto* list = std::get_if<ExternArgs>(&argument))
    for (const ExternArg& element : *list) add_slots(element, slots);
}

/// The slots that a line reads or writes, its definition left out.
std::vector<Slot> slots_used_by(const Line& line) {
  return std::visit(Overloaded{
                        [](const ArenaViewLine& l) { return std::vector<Slot>{l.arena}; },
                        [](const ViewLine& l) { return std::vector<Slot>{l.base}; },
                        [](const KernelLine& l) { return l.tensors; },
                        [](const ReadNumberLine& l) { return std::vector<Slot>{l.slot}; },
                        [](const CopyLine& l) { return std::vector<Slot>{l.destination, l.source}; },
                        [](const ExternLine& l) {
                          std::vector<Slot> slots;
                          for (const ExternArg& a : l.arguments) add_slots(a, slots);
                          return slots;
                        },
                        [](const auto&) { return std::vector<Slot>(); },
                    },
                    line);
}

}  // namespace

/// A view reads its base for as long as it lives itself, so a view's uses count for the argument below it.
void Executor::find_last_uses() {
  const Program& p = *program_;
  is_read_by_lines_.resize(static_cast<size_t>(p.slot_count));
  for (const Line& line : p.lines)
    if (!std::holds_alternative<ExternLine>(line) && !std::holds_alternative<ReadNumberLine>(line))
      for (Slot slot : slots_used_by(line)) is_read_by_lines_[static_cast<size_t>(slot)] = true;
  std::vector<int32_t> argument_of(static_cast<size_t>(p.slot_count), -1);
  for (int32_t i = 0; i < p.argument_count; i++)
    if (p.argument_slots[static_cast<size_t>(i)] >= 0) argument_of[static_cast<size_t>(p.argument_slots[static_cast<size_t>(i)])] = i;
  std::vector<int64_t> last(static_cast<size_t>(p.argument_count), -1);
  for (size_t k = 0; k < p.lines.size(); k++) {
    if (auto* view = std::get_if<ViewLine>(&p.lines[k]))
      argument_of[static_cast<size_t>(view->slot)] = argument_of[static_cast<size_t>(view->base)];
    for (Slot slot : slots_used_by(p.lines[k]))
      if (const int32_t i = argument_of[static_cast<size_t>(slot)]; i >= 0) last[static_cast<size_t>(i)] = static_cast<int64_t>(k);
  }
  for (const OutputSpec& output : p.outputs) {
    if (output.kind == OutputSpec::kInput) last[static_cast<size_t>(output.index)] = -1;
    if (output.kind == OutputSpec::kTensor)
      if (const int32_t i = argument_of[static_cast<size_t>(output.index)]; i >= 0) last[static_cast<size_t>(i)] = -1;
  }
  dropped_after_.resize(p.lines.size());
  for (size_t i = 0; i < last.size(); i++)
    if (last[i] >= 0) dropped_after_[static_cast<size_t>(last[i])].push_back(static_cast<int32_t>(i));
}

/// Specs with a number that only the run knows: when an op gives such a tensor, its numbers are not there yet.
void Executor::find_late_specs() {
  const Program& p = *program_;
  std::vector<bool> late(static_cast<size_t>(p.table_size));
  for (const Line& line : p.lines) {
    if (auto* call = std::get_if<ExternLine>(&line))
      for (TableIndex entry : call->number_results) late[static_cast<size_t>(entry)] = true;
    if (auto* read = std::get_if<ReadNumberLine>(&line)) late[static_cast<size_t>(read->entry)] = true;
  }
  for (const LaterTable& later : p.later_tables)
    for (const ExprProgram::Output& output : later.program.outputs) late[static_cast<size_t>(later.begin) + output.target] = true;
  auto is_late = [&](TableIndex entry) { return late[static_cast<size_t>(entry)]; };
  for (const TensorSpec& spec : p.specs)
    spec_is_late_.push_back(std::any_of(spec.sizes.begin(), spec.sizes.end(), is_late) ||
                            std::any_of(spec.strides.begin(), spec.strides.end(), is_late));
}

Executor::~Executor() {
  if (!line_seconds_.empty()) std::fputs(profile_text().c_str(), stderr);
  for (void* prepared : prepared_) framework_.destroy_extern(framework_.context, prepared);
  delete spare_.load();
  for (CallState* state : spares_) delete state;
}

std::string Executor::profile_text() const {
  std::map<std::string, std::pair<double, int>> by_line;  // kernels and ops by name, everything else by kind
  double total = 0;
  for (size_t k = 0; k < program_->lines.size(); ++k) {
    const Line& line = program_->lines[k];
    std::string name = "memory and numbers";
    if (auto* kernel = std::get_if<KernelLine>(&line)) name = program_->kernels[kernel->kernel].name;
    if (auto* call = std::get_if<ExternLine>(&line)) name = program_->callees[call->callee].op;
    auto& [seconds, count] = by_line[name];
    seconds += line_seconds_[k];
    total += line_seconds_[k];
    ++count;
  }
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [name, row] : by_line)
    rows.emplace_back(row.first, fmt::format("  {:10.3f} ms {:5.1f} %  {:3} x {}\n", row.first / calls_ * 1e3, row.first / total * 100,
                                             row.second, name));
  std::sort(rows.rbegin(), rows.rend());
  std::string text = fmt::format("{}: {} calls, {:.3f} ms a call\n", program_->name, calls_.load(), total / calls_ * 1e3);
  for (const auto& row : rows) text += row.second;
  return text;
}

CallState* Executor::borrow() {
  if (CallState* state = spare_.exchange(nullptr, std::memory_order_acquire)) return state;
  {
    std::lock_guard lock(mutex_);
    if (!spares_.empty()) {
      CallState* state = spares_.back();
      spares_.pop_back();
      return state;
    }
  }
  auto* state = new CallState;
  state->slots.resize(program_->slot_count);
  state->symbols.resize(program_->symbols.size());
  state->pointers.resize(most_pointers_);
  state->gathered.resize(kernel_numbers_);
  for (size_t i = 0; i < program_->argument_slots.size(); i++)
    if (const Slot slot = program_->argument_slots[i]; slot >= 0) state->slots[slot].argument = static_cast<int32_t>(i);
  return state;
}

void Executor::give_back(CallState* state) {
  CallState* none = nullptr;
  if (spare_.compare_exchange_strong(none, state, std::memory_order_release)) return;
  std::lock_guard lock(mutex_);
  spares_.push_back(state);
}

bool Executor::read_symbols(CallState& state, const CallArgument* arguments) const {
  for (size_t k = 0; k < program_->symbols.size(); k++) {
    const SymbolSource& source = program_->symbols[k];
    const CallArgument& argument = arguments[source.argument];
    switch (source.kind) {
      case SymbolSource::kSize: state.symbols[k] = argument.sizes[source.dimension]; break;
      case SymbolSource::kStride: state.symbols[k] = argument.strides[source.dimension]; break;
      case SymbolSource::kScalarArgument: state.symbols[k] = argument.number; break;
      case SymbolSource::kStorageOffset: {
        SlotState& slot = state.slots[program_->argument_slots[source.argument]];
        int32_t rank;
        const int64_t *sizes, *strides;
        if (!slot.tensor && framework_.argument_tensor(framework_.context, argument.object, &slot.tensor)) return false;
        if (framework_.describe(framework_.context, slot.tensor, &rank, &sizes, &strides, &state.symbols[k])) return false;
        break;
      }
    }
  }
  return true;
}

namespace {

std::string beyond_64_bits(const std::vector<int64_t>& sizes) {
  std::string text;
  for (int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "the graph computes a number beyond 64 bits from its sizes (" + text +
         "): expected every number that a tensor or a shape takes to fit; call it with smaller sizes, or compute the number outside of the "
         "compiled function";
}

}  // namespace

bool Executor::choose_numbers(CallState& state, std::string* message) const {
  const size_t bytes = state.symbols.size() * sizeof(int64_t);
  auto fits = [&](const Numbers& n) { return !bytes || std::memcmp(n.symbols.data(), state.symbols.data(), bytes) == 0; };
  if (state.numbers && fits(*state.numbers)) return true;
  for (auto& known : state.known)
    if (fits(*known)) {
      state.numbers = known.get();
      return true;
    }
  auto numbers = std::make_unique<Numbers>();
  numbers->symbols = state.symbols;
  numbers->table.resize(program_->table_size);
  initialise(program_->table, numbers->table.data());
  for (const LaterTable& later : program_->later_tables) initialise(later.program, numbers->table.data() + later.begin);
  if (!evaluate(program_->table, numbers->symbols.data(), numbers->table.data())) {
    *message = beyond_64_bits(state.symbols);
    return false;
  }
  int64_t shares = 0;
  for (const Line& line : program_->lines) {
    if (auto* kernel = std::get_if<KernelLine>(&line)) {
      for (TableIndex entry : kernel->numbers) numbers->kernel_numbers.push_back(numbers->table[entry]);
      shares += numbers->table[kernel->range] / std::max<int64_t>(1, numbers->table[kernel->grain]);
    }
  }
  // A share of work is what is worth a thread (about 5 us); letting go of the interpreter costs a fiftieth of that.
  numbers->is_long = shares > 2 || !prepared_.empty();
  state.numbers = numbers.get();
  if (state.known.size() < kKnownTuples) {
    state.known.push_back(std::move(numbers));
  } else {
    state.known[state.next_evicted] = std::move(numbers);
    state.next_evicted = (state.next_evicted + 1) % kKnownTuples;
  }
  return true;
}

RunStatus Executor::run(CallArgument* arguments, CallOutput* outputs, std::string* message, bool owns_arguments) {
  CallState* state = borrow();
  for (size_t i = 0; i < program_->outputs.size(); i++) outputs[i] = CallOutput{};
  for (size_t i = 0; i < program_->argument_slots.size(); i++)
    if (const Slot slot = program_->argument_slots[i]; slot >= 0) state->slots[slot].data = arguments[i].data;

  RunStatus status = RunStatus::kFrameworkError;
  const bool has_symbols = read_symbols(*state, arguments);
  if (has_symbols && !choose_numbers(*state, message)) {
    status = RunStatus::kRuntimeError;
  } else if (has_symbols) {
    const int64_t mode = prepared_.empty() || !framework_.enter_extern_mode ? 0 : framework_.enter_extern_mode(framework_.context);
    const bool lets_go = state->numbers->is_long && framework_.suspend_host;
    void* host = lets_go ? framework_.suspend_host(framework_.context) : nullptr;
    status = run_lines(*state, arguments, message, owns_arguments && framework_.drop_argument);
    if (status == RunStatus::kOk) status = collect_outputs(*state, arguments, outputs);
    if (lets_go) framework_.resume_host(framework_.context, host);
    if (mode) framework_.leave_extern_mode(framework_.context, mode);
  }
  for (SlotState& slot : state->slots) release_slot(framework_, slot);
  if (status != RunStatus::kOk)
    for (size_t i = 0; i < program_->outputs.size(); i++) {
      if (outputs[i].kind == CallOutput::kTensor) framework_.release(framework_.context, outputs[i].tensor);
      outputs[i] = CallOutput{};
    }
  if (status != RunStatus::kOk && message->empty()) *message = state->failure;
  state->failure.clear();
  give_back(state);
  return status;
}

RunStatus Executor::run_lines(CallState& state, CallArgument* arguments, std::string* message, bool owns_arguments) const {
  state.next_prepared = 0;
  state.next_kernel_numbers = state.numbers->kernel_numbers.data();
  const std::vector<Line>& lines = program_->lines;
  const bool profile = program_->profile;
  if (profile) ++calls_;
  for (size_t k = 0; k < lines.size(); k++) {
    const RunStatus status = profile ? run_timed(k, state, arguments, message) : run_line(lines[k], state, arguments, message);
    if (status != RunStatus::kOk) [[unlikely]]
      return status;
    if (owns_arguments && !dropped_after_[k].empty()) drop_arguments(k, state, arguments);
  }
  return RunStatus::kOk;
}

RunStatus Executor::run_timed(size_t k, CallState& state, const CallArgument* arguments, std::string* message) const {
  const auto begin = std::chrono::steady_clock::now();
  const RunStatus status = run_line(program_->lines[k], state, arguments, message);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  std::lock_guard lock(mutex_);
  line_seconds_.resize(program_->lines.size());
  line_seconds_[k] += taken.count();
  return status;
}

void Executor::drop_arguments(size_t line, CallState& state, CallArgument* arguments) const {
  for (int32_t i : dropped_after_[line]) {
    release_slot(framework_, state.slots[static_cast<size_t>(program_->argument_slots[static_cast<size_t>(i)])]);
    framework_.drop_argument(framework_.context, arguments[i].object);
    arguments[i].object = nullptr;
  }
}

RunStatus Executor::run_line(const Line& any, CallState& state, const CallArgument* arguments, std::string* message) const {
  int64_t* table = state.numbers->table.data();
  const Framework& f = framework_;
  return std::visit(
      Overloaded{
          [&](const AllocLine& line) {
            SlotState& slot = state.slots[line.slot];
            const TensorSpec& spec = program_->specs[line.spec];
            const Shape shape(spec, table);
            slot.spec = line.spec;
            if (f.empty_strided(f.context, shape.rank, shape.sizes, shape.strides, dtype_torch_code(spec.dtype),
                                device_codes_[spec.device.type], spec.device.index, &slot.tensor) ||
                f.data_pointer(f.context, slot.tensor, &slot.data))
              return RunStatus::kFrameworkError;
            return RunStatus::kOk;
          },
          [&](const DataLine& line) {
            SlotState& slot = state.slots[line.slot];
            slot.base = -1;
            slot.spec = line.spec;
            slot.data = const_cast<std::byte*>(program_->data[static_cast<size_t>(line.data)].data());
            return RunStatus::kOk;
          },
          [&](const ArenaLine& line) {
            SlotState& slot = state.slots[line.slot];
            const int64_t one = 1;
            if (f.empty_strided(f.context, 1, &table[line.bytes], &one, dtype_torch_code(DType::kUInt8), device_codes_[line.device.type],
                                line.device.index, &slot.tensor) ||
                f.data_pointer(f.context, slot.tensor, &slot.data))
              return RunStatus::kFrameworkError;
            return RunStatus::kOk;
          },
          [&](const ArenaViewLine& line) {
            SlotState& slot = state.slots[line.slot];
            slot.base = -1;
            slot.spec = line.spec;
            slot.data = static_cast<char*>(state.slots[line.arena].data) + table[line.byte_offset];
            return RunStatus::kOk;
          },
          [&](const ViewLine& line) {
            SlotState& slot = state.slots[line.slot];
            slot.base = line.base;
            slot.spec = line.spec;
            slot.offset = table[line.offset];
            slot.data = static_cast<char*>(state.slots[line.base].data) + slot.offset * dtype_bytes(program_->specs[line.spec].dtype);
            return RunStatus::kOk;
          },
          [&](const FreeLine& line) {
            release_slot(f, state.slots[line.slot]);
            return RunStatus::kOk;
          },
          [&](const KernelLine& line) {
            const int64_t* numbers = state.next_kernel_numbers;
            state.next_kernel_numbers += line.numbers.size();
            if (numbers_change_) {
              for (size_t i = 0; i < line.numbers.size(); i++) state.gathered[i] = table[line.numbers[i]];
              numbers = state.gathered.data();
            }
            return run_kernel(state, line, numbers, message);
          },
          [&](const ExternLine& line) {
            CallFrame frame(*this, state, arguments, &line);
            return f.call_extern(f.context, prepared_[state.next_prepared++], frame) ? RunStatus::kFrameworkError : RunStatus::kOk;
          },
          [&](const ComputeLine& line) {
            const LaterTable& later = program_->later_tables[line.program];
            // What follows from numbers that are still to come has no meaning yet.
            const bool are_all_known = static_cast<size_t>(line.program) + 1 == program_->later_tables.size();
            if (evaluate(later.program, table, table + later.begin) || !are_all_known) return RunStatus::kOk;
            *message = beyond_64_bits(state.symbols);
            return RunStatus::kRuntimeError;
          },
          [&](const AssertLine& line) {
            if (table[line.condition]) return RunStatus::kOk;
            *message = program_->messages[line.message];
            return RunStatus::kRuntimeError;
          },
          [&](const ReadNumberLine& line) {
            int32_t rank;
            const int64_t *sizes, *strides;
            int64_t offset;
            CallFrame frame(*this, state, arguments, nullptr);
            void* tensor = frame.tensor(line.slot);
            if (!tensor || f.describe(f.context, tensor, &rank, &sizes, &strides, &offset)) return RunStatus::kFrameworkError;
            table[line.entry] = line.kind == ReadNumberLine::kSize     ? sizes[line.dimension]
                                : line.kind == ReadNumberLine::kStride ? strides[line.dimension]
                                                                       : offset;
            return RunStatus::kOk;
          },
          [&](const CheckRangeLine& line) {
            const int64_t value = table[line.entry];
            if (line.lower <= value && value <= line.upper) return RunStatus::kOk;
            const bool is_low = value < line.lower;
            *message = fmt::format("the number {} is {}, expected at {} {}", program_->messages[line.name], value,
                                   is_low ? "least" : "most", is_low ? line.lower : line.upper);
            return RunStatus::kRuntimeError;
          },
          [&](const CopyLine& line) {
            CallFrame frame(*this, state, arguments, nullptr);
            void* destination = frame.tensor(line.destination);
            void* source = destination ? frame.tensor(line.source) : nullptr;
            return !source || f.copy(f.context, destination, source) ? RunStatus::kFrameworkError : RunStatus::kOk;
          },
      },
      any);
}

namespace {

struct KernelJob {
  KernelFunction function;
  void** pointers;
  const int64_t* numbers;
  size_t pointer_count = 0;
  ptrdiff_t scratch_at = -1;  // position of the scratch pointer
  char* scratch = nullptr;
  int64_t scratch_bytes = 0;
  const Framework* framework = nullptr;
};

void run_piece(void* argument, int64_t begin, int64_t end) {
  const auto& job = *static_cast<const KernelJob*>(argument);
  if (job.scratch_at < 0) return job.function(job.pointers, job.numbers, begin, end);
  void** own = static_cast<void**>(__builtin_alloca(job.pointer_count * sizeof(void*)));
  std::copy_n(job.pointers, job.pointer_count, own);
  own[job.scratch_at] = job.scratch + job.framework->thread_index(job.framework->context) * job.scratch_bytes;
  job.function(own, job.numbers, begin, end);
}

}  // namespace

RunStatus Executor::run_kernel(CallState& state, const KernelLine& line, const int64_t* numbers, std::string* message) const {
  const int64_t* table = state.numbers->table.data();
  const int64_t range = table[line.range];
  if (range <= 0) return RunStatus::kOk;
  if (const Kernel& kernel = program_->kernels[line.kernel]; kernel.launch) {
    for (size_t k = 0; k < line.tensors.size(); ++k) state.pointers[k] = state.slots[line.tensors[k]].data;
    const int failed = kernel.launch(kernel.object, line.device_index, state.pointers.data(), numbers, range, message);
    return !failed ? RunStatus::kOk : failed == 2 ? RunStatus::kIndexError : RunStatus::kRuntimeError;
  }
  const int64_t grain = std::max<int64_t>(1, table[line.grain]);

  KernelJob job{program_->kernels[line.kernel].function, state.pointers.data(), numbers};
  for (Slot slot : line.tensors) job.pointers[job.pointer_count++] = state.slots[slot].data;
  const bool in_pieces = range > grain && framework_.parallel_for;
  if (line.scratch_bytes >= 0) {
    job.scratch_at = static_cast<ptrdiff_t>(job.pointer_count++);
    job.scratch_bytes = (table[line.scratch_bytes] + 63) / 64 * 64;
    const size_t needed = static_cast<size_t>(job.scratch_bytes) * (in_pieces ? framework_.thread_count(framework_.context) : 1);
    if (needed > state.scratch_bytes) {
      std::free(state.scratch);
      state.scratch = std::aligned_alloc(64, needed);
      state.scratch_bytes = state.scratch ? needed : 0;
      if (!state.scratch) {
        *message = fmt::format("no memory for {} bytes of scratch", needed);
        return RunStatus::kRuntimeError;
      }
    }
    job.scratch = static_cast<char*>(state.scratch);
    job.pointers[job.scratch_at] = job.scratch;
  }
  KernelError error;
  if (line.reports_errors) job.pointers[job.pointer_count++] = &error;
  if (in_pieces) {
    job.framework = &framework_;
    framework_.parallel_for(framework_.context, range, grain, run_piece, &job);
  } else {
    job.function(job.pointers, numbers, 0, range);
  }
  if (error.code == KernelError::kNone) [[likely]]
    return RunStatus::kOk;
  if (error.code == KernelError::kIndexOutOfRange) {
    *message = fmt::format("index {} is out of bounds for dimension with size {}", error.value, error.size);
    return RunStatus::kIndexError;
  }
  if (error.code == KernelError::kDivisionByZero) {
    *message = "ZeroDivisionError";
    return RunStatus::kZeroDivisionError;
  }
  *message = program_->messages.at(line.first_message + static_cast<size_t>(error.code - KernelError::kAssertion));
  return RunStatus::kRuntimeError;
}

RunStatus Executor::collect_outputs(CallState& state, const CallArgument* arguments, CallOutput* outputs) const {
  const std::vector<OutputSpec>& specs = program_->outputs;
  for (size_t i = 0; i < specs.size(); i++) {
    CallOutput& output = outputs[i];
    switch (specs[i].kind) {
      case OutputSpec::kNone: break;
      case OutputSpec::kInput: output = {CallOutput::kArgument, nullptr, specs[i].index}; break;
      case OutputSpec::kInteger: output = {CallOutput::kInteger, nullptr, 0, state.numbers->table[specs[i].index]}; break;
      case OutputSpec::kComputedFloat:
        output = {CallOutput::kFloat, nullptr, 0, 0, float_of_word(state.numbers->table[specs[i].index])};
        break;
      case OutputSpec::kFloat: output = {CallOutput::kFloat, nullptr, 0, 0, specs[i].number}; break;
      case OutputSpec::kBool: output = {CallOutput::kBool, nullptr, 0, specs[i].number != 0}; break;
      case OutputSpec::kTensor: {
        size_t earlier = 0;
        while (earlier < i && !(specs[earlier].kind == OutputSpec::kTensor && specs[earlier].index == specs[i].index)) earlier++;
        if (earlier < i) {
          output = {CallOutput::kSameAs, nullptr, static_cast<int32_t>(earlier)};
          break;
        }
        void* tensor = CallFrame(*this, state, arguments, nullptr).tensor(specs[i].index);
        if (!tensor) return RunStatus::kFrameworkError;
        output = {CallOutput::kTensor, tensor};
        break;
      }
    }
  }
  // Only now: an output may be a view of another's slot.
  for (const OutputSpec& spec : specs)
    if (spec.kind == OutputSpec::kTensor) state.slots[spec.index].tensor = nullptr;
  return RunStatus::kOk;
}

void* CallFrame::tensor(Slot index) {
  SlotState& slot = state_.slots[index];
  if (slot.tensor) return slot.tensor;
  const Framework& f = executor_.framework_;
  if (slot.argument >= 0) {
    if (f.argument_tensor(f.context, arguments_[slot.argument].object, &slot.tensor)) return nullptr;
    return slot.tensor;
  }
  const TensorSpec& spec = executor_.program_->specs[slot.spec];
  const std::vector<int32_t>& device_codes = executor_.device_codes_;
  const Shape shape(spec, state_.numbers->table.data());
  if (slot.base < 0) {
    if (f.from_memory(f.context, slot.data, shape.rank, shape.sizes, shape.strides, dtype_torch_code(spec.dtype),
                      device_codes[spec.device.type], spec.device.index, &slot.tensor))
      return nullptr;
    return slot.tensor;
  }
  void* base = tensor(slot.base);
  if (!base || f.as_strided(f.context, base, shape.rank, shape.sizes, shape.strides, slot.offset, &slot.tensor)) return nullptr;
  return slot.tensor;
}

int64_t CallFrame::number(TableIndex entry) const { return state_.numbers->table[entry]; }

void CallFrame::set_number_result(size_t i, int64_t value) {
  if (i < line_->number_results.size()) state_.numbers->table[line_->number_results[i]] = value;
}

bool CallFrame::set_result(size_t i, void* tensor) {
  const Framework& f = executor_.framework_;
  const Slot index = i < line_->results.size() ? line_->results[i] : -1;
  if (index < 0) {
    if (tensor) f.release(f.context, tensor);
    return true;
  }
  SlotState& slot = state_.slots[index];
  slot.tensor = tensor;
  if (!tensor) return true;  // an undefined tensor, as some gradients are
  const int32_t spec_index = i < line_->result_specs.size() ? line_->result_specs[i] : -1;
  if (spec_index >= 0 && !executor_.spec_is_late_[static_cast<size_t>(spec_index)]) {
    const TensorSpec& spec = executor_.program_->specs[spec_index];
    const std::vector<int32_t>& device_codes = executor_.device_codes_;
    const Shape shape(spec, state_.numbers->table.data());
    int32_t rank;
    const int64_t *sizes, *strides;
    int64_t offset;
    if (f.describe(f.context, tensor, &rank, &sizes, &strides, &offset)) return false;
    if (!has_sizes(shape, rank, sizes)) {
      // The op's shape rule in the framework is wrong. Nobody but the caller looks at it: let it be. A kernel would read astray.
      if (executor_.is_read_by_lines_[static_cast<size_t>(index)]) {
        state_.failure =
            fmt::format("{} gave a tensor of rank {} as result {}, whose sizes are not those that its rule in the framework promised",
                        executor_.program_->callees[line_->callee].op, rank, i);
        return false;
      }
    } else if (!has_strides(shape, strides)) {
      void* planned = nullptr;
      if (f.empty_strided(f.context, shape.rank, shape.sizes, shape.strides, dtype_torch_code(spec.dtype), device_codes[spec.device.type],
                          spec.device.index, &planned))
        return false;
      const bool failed = f.copy(f.context, planned, tensor);
      f.release(f.context, tensor);
      slot.tensor = planned;
      if (failed) return false;
    }
  }
  return f.data_pointer(f.context, slot.tensor, &slot.data) == 0;
}

}  // namespace litz::runtime
