#include "kernel_runner.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <random>

#include "litz/codegen/cpp/kernel_text.h"
#include "litz/kernel/linearize.h"
#include "litz/kernel/reuse_in_place.h"

namespace litz::test {

namespace {

/// Memory that ends where a forbidden page begins.
std::shared_ptr<void> guarded_memory(size_t bytes, std::byte*& data) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t whole = (bytes + page - 1) / page * page;
  auto* base = static_cast<std::byte*>(mmap(nullptr, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  LITZ_CHECK(base != MAP_FAILED, "no memory");
  mprotect(base + whole, page, PROT_NONE);
  data = base + whole - bytes;
  return {base, [whole, page](void* p) { munmap(p, whole + page); }};
}

double relative_tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 1e-12;
    case DType::kFloat32: return 2e-5;
    case DType::kFloat16: return 3e-3;
    default: return 3e-2;
  }
}

bool agrees(const Scalar& found, const Scalar& expected, const RunOptions& options) {
  if (!is_floating(found.dtype)) return found.integer == expected.integer;
  if (std::isnan(expected.real) || std::isnan(found.real)) return std::isnan(expected.real) == std::isnan(found.real);
  if (found.real == expected.real) return true;
  const double relative = std::max(options.least_tolerance, options.tolerance * relative_tolerance(found.dtype));
  const double limit = relative * std::max(1.0, std::fabs(expected.real));
  return std::fabs(found.real - expected.real) <= limit;
}

/// Of this thread's own time, which other processes take nothing of.
double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string text_of(const Scalar& s) { return is_floating(s.dtype) ? fmt::format("{}", s.real) : fmt::format("{}", s.integer); }

}  // namespace

const Target& host_kernel_target() {
  static const FixedTarget target([] {
    TargetFacts facts;
    facts.vector_bytes = host_target().value().vector_bytes;
    return facts;
  }());
  return target;
}

KernelRunner::KernelRunner(std::string_view text, const KernelOptions& options) : KernelRunner(parse_loop_program(text), options) {}

KernelRunner::KernelRunner(std::unique_ptr<LoopProgram> program, const KernelOptions& options)
    : scheduled_(schedule_program(std::move(program), host_kernel_target())) {
  build(options);
}

void KernelRunner::build(const KernelOptions& options) {
  static CppBackend backend(host_target().value());
  for (const auto& group : scheduled_.schedule.groups) {
    LITZ_CHECK(group->kind == GroupKind::kLoops, "extern group {} in a test of kernels", group->name);
    kernels_.push_back(build_kernel(*group, scheduled_.schedule, host_kernel_target(), options));
  }
  reuse_in_place(scheduled_.schedule, kernels_, host_kernel_target());
  for (const auto& kernel : kernels_) sources_.push_back(backend.generate(*kernel).value());
  Result<std::vector<CompiledKernel>> compiled = backend.compile(sources_);
  LITZ_CHECK(bool(compiled), "{}\n{}", compiled.reason(), cpp());
  compiled_ = *compiled;
}

std::string KernelRunner::kernel_ir() const {
  std::string text;
  for (const auto& k : kernels_) text += to_text(*k);
  return text;
}

std::string KernelRunner::cpp() const {
  std::string text;
  for (const KernelSource& s : sources_) text += s.text;
  return text;
}

void KernelRunner::allocate(const RunOptions& options) {
  memory_.clear();
  symbols_.clear();
  for (const auto& [name, value] : options.sizes) symbols_[scheduled_.program->context->find_symbol(name)] = value;
  std::mt19937_64 random(options.seed);
  for (const auto& owned : scheduled_.program->buffers()) {
    Buffer* b = owned.get();
    if (b->layout.kind != LayoutKind::kStrided || scheduled_.schedule.shared_storage(b) != b) continue;
    HostTensor t;
    t.dtype = b->dtype;
    int64_t span = 1;
    bool is_empty = false;
    for (size_t d = 0; d < b->sizes.size(); ++d) {
      t.sizes.push_back(evaluate(b->sizes[d], symbols_));
      t.strides.push_back(evaluate(b->layout.strides[d], symbols_));
      span += (t.sizes[d] - 1) * t.strides[d];
      is_empty |= t.sizes[d] == 0;
    }
    t.owner = guarded_memory(static_cast<size_t>(is_empty ? 0 : span * dtype_bytes(b->dtype)), t.data);
    auto range = is_floating(b->dtype)                                ? std::pair(-2.0, 2.0)
                 : dtype_category(b->dtype) == DTypeCategory::kSigned ? std::pair(-4.0, 4.0)
                                                                      : std::pair(0.0, 8.0);
    if (auto given = options.ranges.find(b->name); given != options.ranges.end()) range = given->second;
    for_each_coordinate(t.sizes, [&](const std::vector<int64_t>& at) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
      if (b->kind != BufferKind::kInput) return t.set(at, scalar_of(b->dtype, 77.0));
      if (b->dtype == DType::kBool) return t.set(at, scalar_of(b->dtype, int64_t{unit < 0.5}));
      const double value = range.first + unit * (range.second - range.first);
      t.set(at, is_floating(b->dtype)
                    ? scalar_of(b->dtype, value)
                    : scalar_of(b->dtype, static_cast<int64_t>(std::floor(range.first + unit * (range.second - range.first + 1)))));
    });
    memory_[b] = t;
  }
}

void KernelRunner::run(const RunOptions& options) {
  std::mt19937_64 random(options.seed * 7 + 1);
  std::fill(error_, error_ + 3, 0);
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const Kernel& kernel = *kernels_[k];
    std::vector<void*> pointers;
    std::vector<int64_t> numbers;
    for (const KernelParameter& p : kernel.parameters) {
      if (p.kind == KernelParameter::kNumber) numbers.push_back(evaluate(p.number, symbols_));
      else pointers.push_back(memory_.at(scheduled_.schedule.shared_storage(p.buffer)).data);
    }
    std::unique_ptr<char[]> scratch;
    if (Expr bytes = scratch_bytes(kernel)) {
      scratch = std::make_unique<char[]>(static_cast<size_t>(evaluate(bytes, symbols_)) + 64);
      pointers.push_back(reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.get()) + 63) / 64 * 64));
    }
    if (kernel.reports_errors) pointers.push_back(error_);
    const int64_t range = evaluate(kernel.range, symbols_);
    LITZ_CHECK(evaluate(kernel.grain, symbols_) >= 1, "grain {}", to_string(kernel.grain));
    auto* function = reinterpret_cast<void (*)(void* const*, const int64_t*, int64_t, int64_t)>(compiled_[k].function);
    std::vector<int64_t> cuts{0, range};
    for (int c = 0; c < options.cuts && range > 0; ++c) cuts.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(range)));
    std::sort(cuts.begin(), cuts.end());
    for (size_t c = cuts.size() - 1; c-- > 0;) {  // pieces in reverse: no order among them
      if (cuts[c] < cuts[c + 1]) function(pointers.data(), numbers.data(), cuts[c], cuts[c + 1]);
    }
  }
}

std::string KernelRunner::compare(const RunOptions& options) {
  allocate(options);
  LoopProgram& program = *scheduled_.program;
  ReferenceInputs inputs;
  for (const auto& parameter : program.parameters) {
    if (auto* buffer = std::get_if<Buffer*>(&parameter)) {
      HostTensor copy = memory_.at(*buffer);
      copy = copy.copy();
      inputs.parameters.emplace_back(copy);
    } else {
      inputs.parameters.emplace_back(evaluate(std::get<Expr>(parameter), symbols_));
    }
  }
  ReferenceOutputs expected = run_reference(program, inputs);
  run(options);
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    const auto* t = std::get_if<ExternTensor>(&program.outputs[k].value);
    if (!t) continue;
    const HostTensor& e = std::get<HostTensor>(expected.outputs[k]);
    const HostTensor& memory = memory_.at(scheduled_.schedule.shared_storage(t->buffer));
    std::string difference;
    for_each_coordinate(e.sizes, [&](const std::vector<int64_t>& at) {
      if (!difference.empty()) return;
      std::unordered_map<Expr, int64_t> point = symbols_;
      for (size_t d = 0; d < at.size(); ++d) point[t->axes[d]] = at[d];
      int64_t offset = 0;
      for (size_t d = 0; d < t->coordinates.size(); ++d)
        offset += evaluate(t->coordinates[d], point) * evaluate(t->buffer->layout.strides[d], point);
      const Scalar found = read_element(e.dtype, memory.data + offset * dtype_bytes(e.dtype));
      if (!agrees(found, e.at(at), options))
        difference = fmt::format("output {} at [{}]: found {}, expected {}", k, fmt::join(at, ", "), text_of(found), text_of(e.at(at)));
    });
    if (!difference.empty()) return difference;
  }
  for (size_t k = 0; k < expected.mutations.size(); ++k) {
    const auto& [position, e] = expected.mutations[k];
    // In place, or in a buffer that the caller of the kernels copies back.
    const HostTensor& found = memory_.at(scheduled_.schedule.shared_storage(program.mutations[k].last_version));
    std::string difference;
    for_each_coordinate(e.sizes, [&](const std::vector<int64_t>& at) {
      if (difference.empty() && !agrees(found.at(at), e.at(at), options))
        difference =
            fmt::format("input {} at [{}]: found {}, expected {}", position, fmt::join(at, ", "), text_of(found.at(at)), text_of(e.at(at)));
    });
    if (!difference.empty()) return difference;
  }
  return {};
}

double KernelRunner::bytes() const {
  double total = 0;
  for (const auto& kernel : kernels_) {
    for (const KernelParameter& p : kernel->parameters) {
      if (p.kind == KernelParameter::kNumber) continue;
      const HostTensor& t = memory_.at(scheduled_.schedule.shared_storage(p.buffer));
      total += static_cast<double>(t.numel() * dtype_bytes(t.dtype)) * (p.kind == KernelParameter::kInOut ? 2 : 1);
    }
  }
  return total;
}

double KernelRunner::time(const RunOptions& options, int repeats) {
  allocate(options);
  double best = 1e30;
  for (int k = 0; k < repeats; ++k) {
    const double start = thread_seconds();
    run(options);
    best = std::min(best, thread_seconds() - start);
  }
  return best;
}

}  // namespace litz::test
