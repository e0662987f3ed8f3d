// Kernels of a device with several units run where their tensors lie, whichever unit is current; a driver that only keeps count stands in.
#include <gtest/gtest.h>

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
} counted;

Handle context_of(int device) { return reinterpret_cast<Handle>(static_cast<intptr_t>(device + 1)); }
void* stream_of(int device) { return reinterpret_cast<void*>(static_cast<intptr_t>(100 + device)); }

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
  void load(int scratch_bytes) {
    KernelBinary binary;
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

TEST_F(LaunchTest, NoMemoryForScratchIsAnError) {
  load(384);
  counted.has_memory = false;
  EXPECT_NE(launch_on(0, 5), 0);
  EXPECT_TRUE(counted.launches.empty());
  EXPECT_NE(message_.find("384"), std::string::npos) << message_;
}

}  // namespace
}  // namespace litz::cuda
