#include "litz/device/cuda/program_counter.h"

#include <mutex>
#include <unordered_map>

#include "litz/device/cuda/cuda_driver.h"

namespace litz::cuda {
namespace {

constexpr uint64_t kCounterBytes = 32;  // what the device's caches handle as one
constexpr uint64_t kChunkBytes = 64 << 10;

using StreamId = unsigned long long;  // unlike a handle never given to another stream

/// While it lives this thread may allocate memory although one of its streams is recorded.
class AllocationDuringRecording {
 public:
  AllocationDuringRecording() : failed_(driver()->cuThreadExchangeStreamCaptureMode(&mode_)) {}
  ~AllocationDuringRecording() {
    if (!failed_) driver()->cuThreadExchangeStreamCaptureMode(&mode_);
  }
  AllocationDuringRecording(const AllocationDuringRecording&) = delete;
  AllocationDuringRecording& operator=(const AllocationDuringRecording&) = delete;
  Status failed() const { return failed_; }

 private:
  static constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
  int mode_ = kRelaxed;               // then the one that was in force
  Status failed_;
};

/// Zeroed on a stream of its own, which neither waits for others nor is part of a recording.
Status allocate_zeroed(uint64_t* memory) {
  constexpr unsigned kNonBlocking = 1;
  const Driver& d = *driver();
  const AllocationDuringRecording scope;
  Handle stream = nullptr;
  Status failed = scope.failed() ?: d.cuMemAlloc_v2(memory, kChunkBytes) ?: d.cuStreamCreate(&stream, kNonBlocking);
  if (failed) return failed;
  failed = d.cuMemsetD8Async(*memory, 0, kChunkBytes, stream) ?: d.cuStreamSynchronize(stream);
  const Status left = d.cuStreamDestroy_v2(stream);
  return failed ?: left;
}

class Counters {
 public:
  Result<void*> fresh(int device) {
    std::lock_guard lock(mutex_);
    return take(devices_[device]);
  }

  Result<void*> of_stream(int device, StreamId stream) {
    std::lock_guard lock(mutex_);
    OnDevice& on_device = devices_[device];
    if (auto known = on_device.of_stream.find(stream); known != on_device.of_stream.end()) return known->second;
    auto made = take(on_device);
    if (made) on_device.of_stream.emplace(stream, *made);
    return made;
  }

 private:
  struct OnDevice {
    uint64_t next = 0, end = 0;  // what is left of the last chunk
    std::unordered_map<StreamId, void*> of_stream;
  };

  static Result<void*> take(OnDevice& on_device) {
    if (on_device.next == on_device.end) {
      uint64_t chunk = 0;
      if (const Status failed = allocate_zeroed(&chunk)) return unsupported("no memory for counters: {}", driver()->text_of(failed));
      on_device.next = chunk;
      on_device.end = chunk + kChunkBytes;
    }
    void* counter = reinterpret_cast<void*>(static_cast<uintptr_t>(on_device.next));
    on_device.next += kCounterBytes;
    return counter;
  }

  std::mutex mutex_;
  std::unordered_map<int, OnDevice> devices_;
};

Counters& counters() {
  static auto* all = new Counters;  // never destroyed: kernels may run until the process ends
  return *all;
}

}  // namespace

Result<void*> program_counter(int device, void* stream) {
  const Driver& d = *driver();
  int recording = 0;
  if (const Status failed = d.cuStreamIsCapturing(stream, &recording))
    return unsupported("whether the current stream is recorded is not known: {}", d.text_of(failed));
  if (recording) return counters().fresh(device);
  StreamId id = 0;
  if (const Status failed = d.cuStreamGetId(stream, &id)) return unsupported("the current stream has no id: {}", d.text_of(failed));
  thread_local struct {
    int device = -1;
    StreamId stream = 0;
    void* counter = nullptr;
  } last;
  if (last.device == device && last.stream == id) [[likely]]
    return last.counter;
  auto found = counters().of_stream(device, id);
  if (found) last = {device, id, *found};
  return found;
}

}  // namespace litz::cuda
