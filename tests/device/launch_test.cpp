// Kernels of a device with several units run where their tensors lie, whichever unit is current; a driver that only keeps count stands in.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "litz/device/cuda/cuda_driver.h"
#include "litz/device/cuda/cuda_kernel.h"

namespace litz::cuda {
namespace {

struct Launch {
  int device;
  void* stream;
};

struct Counted {
  int current = 0;  // -1: no context on this thread
  int switches = 0;
  bool refuses_contexts = false;
  std::vector<Launch> launches;
  std::vector<int> asked_for_memory;  // devices
  std::vector<uint64_t> allocated;    // bytes
  bool has_memory = true;
  void* first_extra = nullptr;  // the first argument behind the kernel's own pointer
  int held = 0;                 // allocations that are not given back
  int held_at_launch = 0;
  intptr_t stream = 0;  // the current one, of several on a device
  bool is_recording = false;
  int capture_mode = 0;        // of this thread
  std::vector<int> zeroed_in;  // the modes in which counters were allocated and zeroed
  bool has_counters = true;
  std::vector<unsigned> programs;        // of cooperative launches
  std::vector<int> occupancy_asked_for;  // devices
  int blocks_of_each = 4;                // multiprocessor
  unsigned most_programs = 1 << 30;      // that a cooperative launch may have
} counted;

Handle context_of(int device) { return reinterpret_cast<Handle>(static_cast<intptr_t>(device + 1)); }
void* stream_of(int device) { return reinterpret_cast<void*>(100 * (counted.stream + 1) + device); }
alignas(64) char counter_memory[1 << 20];  // of all tests: counters live as long as the process
size_t counter_memory_used = 0;

Driver counting_driver() {
  Driver d;
  d.cuDeviceGet = [](int* device, int ordinal) -> Status { return *device = ordinal, 0; };
  d.cuDevicePrimaryCtxRetain = [](Handle* context, int device) -> Status {
    *context = context_of(device);
    return counted.refuses_contexts ? 2 : 0;
  };
  d.cuCtxGetCurrent = [](Handle* context) -> Status { return *context = context_of(counted.current), 0; };
  d.cuCtxSetCurrent = [](Handle context) -> Status {
    ++counted.switches;
    return counted.current = static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1, 0;
  };
  d.cuCtxGetDevice = [](int* device) -> Status { return *device = counted.current, counted.current < 0 ? 201 : 0; };
  d.cuLibraryLoadData = [](Handle*, const void*, int*, void**, unsigned, int*, void**, unsigned) -> Status { return 0; };
  d.cuLibraryGetKernel = [](Handle*, Handle, const char*) -> Status { return 0; };
  d.cuLibraryUnload = [](Handle) -> Status { return 0; };
  d.cuKernelSetAttribute = [](int, int, Handle, int device) -> Status { return counted.asked_for_memory.push_back(device), 0; };
  d.cuLaunchKernel = [](Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle stream, void** arguments,
                        void**) -> Status {
    counted.first_extra = *static_cast<void**>(arguments[1]);
    counted.held_at_launch = counted.held;
    return counted.launches.push_back({counted.current, stream}), 0;
  };
  d.allocate = [](uint64_t bytes, void** memory) -> int {
    counted.allocated.push_back(bytes);
    if (!counted.has_memory) return 1;
    ++counted.held;
    return *memory = &counted, 0;
  };
  d.release = [](void*) -> int { return --counted.held, 0; };
  d.cuLaunchKernelEx = [](const LaunchConfig* config, Handle, void** arguments, void**) -> Status {
    const bool is_cooperative = config->attribute_count == 1 && config->attributes[0].id == LaunchAttribute::kCooperative &&
                                config->attributes[0].value.cooperative == 1;
    if (!is_cooperative || config->block[0] != 128 || config->grid[1] * config->grid[2] * config->block[1] * config->block[2] != 1)
      return 1;
    if (config->grid[0] > counted.most_programs) return 720;
    counted.first_extra = *static_cast<void**>(arguments[1]);
    counted.programs.push_back(config->grid[0]);
    return counted.launches.push_back({counted.current, config->stream}), 0;
  };
  d.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* blocks, Handle, int threads, size_t shared_bytes) -> Status {
    counted.occupancy_asked_for.push_back(counted.current);
    return *blocks = counted.blocks_of_each, threads == 128 && shared_bytes == 100 << 10 ? 0 : 1;
  };
  d.cuDeviceGetAttribute = [](int* value, int which, int device) -> Status {
    return *value = device ? 7 : 132, which == kMultiprocessors ? 0 : 1;  // device 1: a part of a GPU
  };
  d.cuThreadExchangeStreamCaptureMode = [](int* mode) -> Status { return std::swap(*mode, counted.capture_mode), 0; };
  d.cuMemAlloc_v2 = [](uint64_t* memory, size_t bytes) -> Status {
    if (!counted.has_counters) return 2;
    *memory = reinterpret_cast<uintptr_t>(counter_memory) + counter_memory_used;
    return counter_memory_used += bytes, 0;
  };
  d.cuMemsetD8Async = [](uint64_t, unsigned char, size_t, Handle stream) -> Status {
    return stream == &counted ? counted.zeroed_in.push_back(counted.capture_mode), 0 : 1;
  };
  d.cuStreamCreate = [](Handle* stream, unsigned) -> Status { return *stream = &counted, 0; };
  d.cuStreamSynchronize = [](Handle) -> Status { return 0; };
  d.cuStreamDestroy_v2 = [](Handle) -> Status { return 0; };
  d.cuStreamGetId = [](Handle stream, unsigned long long* id) -> Status { return *id = reinterpret_cast<uintptr_t>(stream), 0; };
  d.cuStreamIsCapturing = [](Handle, int* recording) -> Status { return *recording = counted.is_recording, 0; };
  d.cuGetErrorString = [](Status, const char** text) -> Status { return *text = "refused", 0; };
  d.current_stream = [](int32_t device, void** stream) { return *stream = stream_of(device), 0; };
  return d;
}

class LaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    counted = {};
    driver() = counting_driver();
    load(0);
  }
  void load(int scratch_bytes, bool counts_programs = false, bool is_cooperative = false) {
    KernelBinary binary;
    binary.counts_programs = counts_programs;
    binary.is_cooperative = is_cooperative;
    binary.entry = "kernel";
    binary.pointers = 1;
    binary.extra_arguments = 2;
    binary.scratch_bytes = scratch_bytes;
    binary.shared_bytes = 100 << 10;
    auto loaded = load_kernel(binary, "source", "cuda:90");
    ASSERT_TRUE(loaded);
    kernel_ = *loaded;
  }
  int launch_on(int device, int64_t range = 1) {
    alignas(16) static char data[16];
    void* pointers[] = {data};
    return kernel_.launch(kernel_.function, device, pointers, nullptr, range, &message_);
  }
  /// The counter that a launch on a stream of the device gets.
  void* counter_on(int device, intptr_t stream = 0) {
    counted.stream = stream;
    counted.first_extra = nullptr;
    EXPECT_EQ(launch_on(device, 3), 0) << message_;
    return counted.first_extra;
  }
  CompiledKernel kernel_;
  std::string message_;
};

TEST_F(LaunchTest, ACurrentDeviceIsUsedAsItIs) {
  EXPECT_EQ(launch_on(0), 0);
  ASSERT_EQ(counted.launches.size(), 1u);
  EXPECT_EQ(counted.launches[0].stream, stream_of(0));
  EXPECT_EQ(counted.switches, 0);
}

TEST_F(LaunchTest, AKernelRunsWhereItsTensorsLie) {
  for (int device : {1, 0, 3, 1}) EXPECT_EQ(launch_on(device), 0);
  ASSERT_EQ(counted.launches.size(), 4u);
  const int wanted[] = {1, 0, 3, 1};
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(counted.launches[k].device, wanted[k]);
    EXPECT_EQ(counted.launches[k].stream, stream_of(wanted[k]));
  }
  EXPECT_EQ(counted.current, 0);
  // Each device is asked once for the shared memory that the kernel needs.
  EXPECT_EQ(counted.asked_for_memory, (std::vector<int>{1, 0, 3}));
}

TEST_F(LaunchTest, AThreadWithoutAContextIsLeftWithoutOne) {
  counted.current = -1;
  EXPECT_EQ(launch_on(2), 0);
  ASSERT_EQ(counted.launches.size(), 1u);
  EXPECT_EQ(counted.launches[0].device, 2);
  EXPECT_EQ(counted.current, -1);
}

TEST_F(LaunchTest, ADeviceThatCannotBeEnteredIsAnError) {
  counted.refuses_contexts = true;
  EXPECT_NE(launch_on(7), 0);
  EXPECT_TRUE(counted.launches.empty());
  EXPECT_NE(message_.find("refused"), std::string::npos) << message_;
  EXPECT_EQ(counted.current, 0);
}

TEST_F(LaunchTest, ScratchIsTheFirstExtraArgumentAndGivenBack) {
  EXPECT_EQ(launch_on(0, 5), 0);
  EXPECT_TRUE(counted.allocated.empty());
  EXPECT_EQ(counted.first_extra, nullptr);
  counted.first_extra = &message_;
  EXPECT_EQ(launch_on(0, 5), 0);
  EXPECT_EQ(counted.first_extra, nullptr);
  load(384);
  EXPECT_EQ(launch_on(0, 5), 0);
  EXPECT_EQ(counted.allocated, std::vector<uint64_t>{5 * 384});
  EXPECT_EQ(counted.first_extra, &counted);
  EXPECT_EQ(counted.held_at_launch, 1);
  EXPECT_EQ(counted.held, 0);
}

TEST_F(LaunchTest, LaunchesShareACounterWhereTheyFollowEachOther) {
  load(0, true);
  void* first = counter_on(0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(counter_on(0), first);
  void *of_second_stream = counter_on(0, 1), *of_second_device = counter_on(1);
  EXPECT_NE(of_second_stream, first);
  EXPECT_NE(of_second_device, first);
  EXPECT_NE(of_second_device, of_second_stream);
  EXPECT_EQ(counter_on(0), first);
  EXPECT_EQ(counter_on(0, 1), of_second_stream);
  load(0, true);  // another kernel on the same stream
  EXPECT_EQ(counter_on(0), first);
}

TEST_F(LaunchTest, ARecordedLaunchHasACounterOfItsOwn) {
  load(0, true);
  constexpr int kDevice = 5;  // that no other test uses: its counters are made while it is recorded
  constexpr int kThreadLocal = 1, kRelaxed = 2;
  counted.capture_mode = kThreadLocal;
  counted.is_recording = true;
  std::set<void*> counters;
  for (int k = 0; k < 3000; ++k) counters.insert(counter_on(kDevice));
  counted.is_recording = false;
  counters.insert(counter_on(kDevice));
  EXPECT_EQ(counters.size(), 3001u);
  EXPECT_EQ(counted.capture_mode, kThreadLocal);
  EXPECT_EQ(counted.zeroed_in, (std::vector<int>{kRelaxed, kRelaxed}));
}

TEST_F(LaunchTest, NoMoreProgramsWaitForEachOtherThanTheDeviceRunsAtOnce) {
  load(0, true, true);
  for (int device : {0, 1, 0, 1}) EXPECT_EQ(launch_on(device, 500), 0) << message_;
  EXPECT_EQ(launch_on(0, 900), 0) << message_;
  EXPECT_EQ(counted.programs, (std::vector<unsigned>{500, 28, 500, 28, 528}));
  EXPECT_EQ(counted.occupancy_asked_for, (std::vector<int>{0, 1}));
  EXPECT_NE(counted.first_extra, nullptr);
}

TEST_F(LaunchTest, WhereTheDriverRefusesSoManyProgramsFewerDoTheWork) {
  load(0, true, true);
  counted.most_programs = 300;
  for (int k = 0; k < 2; ++k) EXPECT_EQ(launch_on(0, 528), 0) << message_;
  EXPECT_EQ(counted.programs, (std::vector<unsigned>{264, 264}));
  counted.most_programs = 0;
  EXPECT_NE(launch_on(0, 528), 0);
  EXPECT_NE(message_.find("launch of kernel"), std::string::npos) << message_;
}

TEST_F(LaunchTest, NoMemoryForCountersIsAnError) {
  load(0, true);
  counted.has_counters = false;
  EXPECT_NE(launch_on(6), 0);
  EXPECT_TRUE(counted.launches.empty());
  EXPECT_NE(message_.find("counters"), std::string::npos) << message_;
}

TEST_F(LaunchTest, NoMemoryForScratchIsAnError) {
  load(384);
  counted.has_memory = false;
  EXPECT_NE(launch_on(0, 5), 0);
  EXPECT_TRUE(counted.launches.empty());
  EXPECT_NE(message_.find("384"), std::string::npos) << message_;
}

}  // namespace
}  // namespace litz::cuda
