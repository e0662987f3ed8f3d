#include "litz/device/cuda/cuda_kernel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "litz/device/cuda/cuda_driver.h"
#include "litz/device/cuda/program_counter.h"

namespace litz::cuda {
namespace {

constexpr int kMaxDynamicSharedBytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int kSharedWithoutAsking = 48 << 10;
constexpr Status kTooManyTogether = 720;  // CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
constexpr int kMostArguments = 512;

/// Machine code in the driver; a CUkernel serves every device of the process.
struct Variant {
  KernelBinary binary;
  Handle library = nullptr, kernel = nullptr;
  std::atomic<uint64_t> devices_ready{0};                // where the size of shared memory was asked for
  std::array<std::atomic<int>, 64> programs_together{};  // on each device; 0: not asked for yet
};

/// What kernels report to: code, value, size (runtime::KernelError), in host memory that devices write.
struct ErrorReport {
  int64_t* words = nullptr;
};

Result<ErrorReport> error_report() {
  static std::mutex mutex;
  static ErrorReport report;
  std::lock_guard lock(mutex);
  if (!report.words) {
    constexpr unsigned kPortableAndMapped = 1 | 2;
    void* memory = nullptr;
    if (const Status failed = driver()->cuMemHostAlloc(&memory, 64, kPortableAndMapped))
      return unsupported("no host memory for error reports: {}", driver()->text_of(failed));
    report.words = static_cast<int64_t*>(memory);
    for (int k = 0; k < 8; ++k) report.words[k] = 0;
  }
  return report;
}

/// The context that PyTorch uses on a device.
Status primary_context(int device, Handle* context) {
  static std::array<std::atomic<Handle>, 64> known;
  std::atomic<Handle>& slot = known[device & 63];
  *context = slot.load(std::memory_order_acquire);
  if (*context) return 0;
  int handle = 0;
  const Driver& d = *driver();
  if (const Status failed = d.cuDeviceGet(&handle, device) ?: d.cuDevicePrimaryCtxRetain(context, handle)) return failed;
  slot.store(*context, std::memory_order_release);
  return 0;
}

/// For as long as it lives, the device is the current one of this thread, as PyTorch's device guard does it.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    const Driver& d = *driver();
    int current = -1;
    if (!d.cuCtxGetDevice(&current) && current == device) [[likely]]
      return;
    Handle context = nullptr;
    failed_ = d.cuCtxGetCurrent(&before_) ?: primary_context(device, &context) ?: d.cuCtxSetCurrent(context);
    is_entered_ = !failed_;
  }
  ~OnDevice() {
    if (is_entered_) driver()->cuCtxSetCurrent(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  Status failed() const { return failed_; }

 private:
  Handle before_ = nullptr;
  Status failed_ = 0;
  bool is_entered_ = false;
};

class LoadedKernel {
 public:
  LoadedKernel(std::string source, std::string target) : source_(std::move(source)), target_(std::move(target)) {}
  ~LoadedKernel() {
    for (Variant* v : {aligned_.load(), unaligned_.load()}) {
      if (v && v->library) driver()->cuLibraryUnload(v->library);
      delete v;
    }
  }

  Result<bool> load(const KernelBinary& binary, bool aligned) {
    auto variant = std::make_unique<Variant>();
    variant->binary = binary;
    const Driver& d = *driver();
    if (const Status failed = d.cuLibraryLoadData(&variant->library, binary.image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0))
      return unsupported("machine code of {} does not load: {}", binary.entry, d.text_of(failed));
    if (const Status failed = d.cuLibraryGetKernel(&variant->kernel, variant->library, binary.entry.c_str()))
      return unsupported("no kernel {} in its machine code: {}", binary.entry, d.text_of(failed));
    if (binary.reports_errors) {
      auto report = error_report();
      if (!report) return unsupported("{}", report.reason());
      errors_ = report->words;
    }
    if (binary.pointers + binary.numbers + binary.extra_arguments + 2 > kMostArguments)
      return unsupported("{}: too many arguments", binary.entry);
    (aligned ? aligned_ : unaligned_) = variant.release();
    return true;
  }

  int launch(int device, void* const* pointers, const int64_t* numbers, int64_t range, std::string* message) {
    const Driver& d = *driver();
    Variant* variant = aligned_.load(std::memory_order_acquire);
    uintptr_t bits = 0;
    for (int k = 0; k < variant->binary.pointers; ++k) bits |= reinterpret_cast<uintptr_t>(pointers[k]);
    if (bits & 15) [[unlikely]] {
      variant = unaligned(message);
      if (!variant) return 1;
    }
    const KernelBinary& binary = variant->binary;
    if (errors_ && errors_[0]) [[unlikely]]
      return report(message);
    const OnDevice scope(device);
    if (scope.failed()) [[unlikely]]
      return fail(message, "device", scope.failed());
    if (binary.shared_bytes > kSharedWithoutAsking && !(variant->devices_ready.load() >> (device & 63) & 1)) {
      if (const Status failed = d.cuKernelSetAttribute(kMaxDynamicSharedBytes, binary.shared_bytes, variant->kernel, device))
        return fail(message, "shared memory", failed);
      variant->devices_ready |= uint64_t{1} << (device & 63);
    }
    void* stream = nullptr;
    if (d.current_stream && d.current_stream(device, &stream)) {
      *message = "the current stream is not known";
      return 1;
    }
    void* arguments[kMostArguments];
    void *nothing = nullptr, *scratch = nullptr, *counter = nullptr;
    int n = 0;
    for (int k = 0; k < binary.pointers; ++k) arguments[n++] = const_cast<void**>(&pointers[k]);
    for (int k = 0; k < binary.numbers; ++k) arguments[n++] = const_cast<int64_t*>(&numbers[k]);
    if (binary.reports_errors) arguments[n++] = &errors_;
    if (binary.counts_programs) {
      auto found = program_counter(device, stream);
      if (!found) {
        *message = fmt::format("{}: {}", binary.entry, found.reason());
        return 1;
      }
      counter = *found;
      arguments[n++] = &counter;
    }
    for (int k = 0; k < binary.extra_arguments; ++k) arguments[n++] = k ? &nothing : &scratch;
    std::atomic<int>& together = variant->programs_together[static_cast<size_t>(device & 63)];
    if (binary.is_cooperative) {
      if (!together) [[unlikely]]
        if (const Status failed = find_programs_together(*variant, &together)) return fail(message, "occupancy", failed);
      range = std::min<int64_t>(range, together);
    }
    if (range > INT32_MAX) {
      *message = fmt::format("{}: a grid of {} programs (at most {})", binary.entry, range, INT32_MAX);
      return 1;
    }
    if (binary.scratch_bytes) {  // given back at once: whoever gets it next writes to it later on the same stream
      if (!d.allocate || d.allocate(static_cast<uint64_t>(range) * binary.scratch_bytes, &scratch)) {
        *message = fmt::format("{}: no memory for {} programs' {} bytes", binary.entry, range, binary.scratch_bytes);
        return 1;
      }
    }
    const auto programs = static_cast<unsigned>(range), threads = static_cast<unsigned>(32 * binary.warps);
    const auto shared_bytes = static_cast<unsigned>(binary.shared_bytes);
    Status failed = 0;
    if (binary.is_cooperative) {
      LaunchAttribute attribute{.id = LaunchAttribute::kCooperative, .value = {.cooperative = 1}};
      LaunchConfig config{{programs, 1, 1}, {threads, 1, 1}, shared_bytes, stream, &attribute, 1};
      // Programs that do not all fit would wait for ever: the driver refuses them. Another process may have been given a share of the device.
      while ((failed = d.cuLaunchKernelEx(&config, variant->kernel, arguments, nullptr)) == kTooManyTogether && config.grid[0] > 1) {
        config.grid[0] /= 2;
        together = static_cast<int>(config.grid[0]);
      }
    } else {
      failed = d.cuLaunchKernel(variant->kernel, programs, 1, 1, threads, 1, 1, shared_bytes, stream, arguments, nullptr);
    }
    if (scratch) d.release(scratch);
    return failed ? fail(message, "launch", failed) : 0;
  }

 private:
  /// How many programs the current device runs at the same time; it may be a part of a GPU.
  static Status find_programs_together(const Variant& variant, std::atomic<int>* together) {
    const Driver& d = *driver();
    const KernelBinary& binary = variant.binary;
    int handle = 0, multiprocessors = 0, of_each = 0;
    const Status failed =
        d.cuCtxGetDevice(&handle) ?: d.cuDeviceGetAttribute(&multiprocessors, kMultiprocessors, handle)
        ?: d.cuOccupancyMaxActiveBlocksPerMultiprocessor(&of_each, variant.kernel, 32 * binary.warps, static_cast<size_t>(binary.shared_bytes));
    if (failed) return failed;
    *together = std::max(1, multiprocessors * of_each);
    return 0;
  }

  int fail(std::string* message, const char* what, Status failed) {
    *message = fmt::format("{} of {}: {}", what, aligned_.load()->binary.entry, driver()->text_of(failed));
    return 1;
  }

  int report(std::string* message) {
    const int64_t code = errors_[0];
    if (code == 1)
      *message = fmt::format("index {} is out of bounds for dimension with size {} (seen in an earlier kernel)", errors_[1], errors_[2]);
    else *message = "an assertion of an earlier kernel failed";
    errors_[0] = 0;
    return code == 1 ? 2 : 1;
  }

  Variant* unaligned(std::string* message) {
    if (Variant* known = unaligned_.load(std::memory_order_acquire)) return known;
    std::lock_guard lock(mutex_);
    if (Variant* known = unaligned_.load(std::memory_order_acquire)) return known;
    auto binary = WorkerPool::instance().compile(source_, target_, false).get();
    auto loaded = binary ? load(*binary, false) : Result<bool>(unsupported("{}", binary.reason()));
    if (!loaded) *message = loaded.reason();
    return unaligned_.load();
  }

  std::string source_, target_;
  std::mutex mutex_;
  std::atomic<Variant*> aligned_{nullptr}, unaligned_{nullptr};
  int64_t* errors_ = nullptr;
};

int launch(void* object, int32_t device, void* const* pointers, const int64_t* numbers, int64_t range, std::string* message) {
  return static_cast<LoadedKernel*>(object)->launch(device, pointers, numbers, range, message);
}

constexpr int kFirstMajorWithDescriptors = 9;

}  // namespace

bool has_tensor_descriptors() {
  if (!driver()) return true;
  int device = 0, major = 0;
  return driver()->allocate && !driver()->cuDeviceGet(&device, 0) && !driver()->cuDeviceGetAttribute(&major, kMajor, device) &&
         major >= kFirstMajorWithDescriptors;
}

Result<CompiledKernel> load_kernel(const KernelBinary& binary, const std::string& source, const std::string& target) {
  if (!driver()) return unsupported("{}", driver().reason());
  auto kernel = std::make_shared<LoadedKernel>(source, target);
  if (auto loaded = kernel->load(binary, true); !loaded) return unsupported("{}", loaded.reason());
  CompiledKernel compiled;
  compiled.launch = launch;
  compiled.function = kernel.get();
  compiled.owner = std::move(kernel);
  return compiled;
}

}  // namespace litz::cuda
