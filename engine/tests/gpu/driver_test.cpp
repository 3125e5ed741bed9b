// Drivers that differ in what they have. What each has is taken from NVIDIA's
//
// - cudaTypedefs.h (CUDA 12.9): a type for each function and version of its interface, as
//   PFN_cuMemPrefetchAsync_v12020. driver.h declares functions by these types, so a version that is
//   none does not compile; a driver has those up to its CUDA.
// - cuda.h of CUDA 12.0 to 12.4: CU_MEM_LOCATION_TYPE_HOST_NUMA is in 12.2 first,
//   CU_MEM_HANDLE_TYPE_FABRIC in 12.3.
// - CUDA Toolkit release notes, "CUDA Toolkit and Corresponding Driver Versions": which driver is
//   the first of which CUDA.
// - cuda.h on cuGetProcAddress: CUDA 12.0 has its second interface first.
#include "gpu/driver.h"

#include <gtest/gtest.h>

#include <thread>

#include "errors.h"
#include "gpu/check.h"
#include "gpu/device.h"
#include "gpu/device_code.h"
#include "gpu/devices.h"
#include "gpu/driver_version.h"
#include "gpu/fake_cuda.h"
#include "gpu/gpu_kinds.h"
#include "gpu/gpu_pages.h"

namespace tierscope {
namespace {

using nlohmann::json;

struct Branch {
  const char* driver;
  int cuda;
};

constexpr Branch kBranches[] = {
    {"525", 12000}, {"535", 12020}, {"550", 12040}, {"570", 12080}, {"580", 13000}};

// Why a measurement is skipped, and what to do; empty where it is measured.
std::string skipped(const std::string& kind, const json& plan) {
  try {
    Repeated(kind, plan).repetition();
    return "";
  } catch (const Unavailable& error) {
    return std::string(error.what()) + "; " + error.remedy();
  }
}

std::string copy_skipped(const std::string& memory) {
  return skipped("gpu-copy", copy_plan({transfer(host_memory(memory), memory_of(0), 0)}));
}

class EachDriver : public testing::TestWithParam<Branch> {
 protected:
  void SetUp() override { fake_cuda::set({.driver = GetParam().cuda, .fabric = true}); }
  void TearDown() override { fake_cuda::set({}); }
};

INSTANTIATE_TEST_SUITE_P(From525, EachDriver, testing::ValuesIn(kBranches),
                         [](const auto& given) { return std::string(given.param.driver); });

TEST_P(EachDriver, HasItsGpus) {
  const GpuRuntime runtime = gpu_runtime();
  EXPECT_EQ(runtime.error, "");
  EXPECT_EQ(runtime.driver, GetParam().cuda);
  EXPECT_GT(runtime.devices, 0);
}

TEST_P(EachDriver, CopiesMeasuresMemoryAndLatency) {
  for (const char* memory : {"pinned", "write-combined", "registered", "pageable"}) {
    EXPECT_EQ(copy_skipped(memory), "") << memory;
  }
  for (const char* engine : {"ce", "sm", "tma"}) {
    EXPECT_EQ(skipped("gpu-copy", copy_plan({transfer(memory_of(0), memory_of(1), 0, engine)})), "")
        << engine;
  }
  json rows = copy_plan({transfer(host_memory(), memory_of(0), 0)});
  rows["pattern"] = {{"size", 262000}, {"row_bytes", 1000}, {"pitch", 1024}};
  EXPECT_EQ(skipped("gpu-copy", rows), "");
  EXPECT_EQ(skipped("gpu-memory", memory_plan("triad")), "");
  EXPECT_EQ(skipped("gpu-latency", latency_plan()), "");
}

TEST_P(EachDriver, MovesManagedMemoryToANodeFromCuda12Point2On) {
  const std::string reason =
      GetParam().cuda >= 12020
          ? ""
          : "the NVIDIA driver, for CUDA 12.0, cannot move managed memory to a NUMA node: that "
            "came "
            "with CUDA 12.2; install NVIDIA driver 535 or newer, or measure pinned memory";
  for (const char* memory : {"managed", "managed-prefetch", "managed-advised"}) {
    EXPECT_EQ(copy_skipped(memory), reason) << memory;
  }
  EXPECT_EQ(cuda().cuMemPrefetchAsync != nullptr, reason.empty());
}

TEST_P(EachDriver, HasPagesAndFromCuda12Point3OnFabricHandles) {
  EXPECT_NO_THROW(GpuPages(0, 1, GpuPages::For::kDrives));
  std::string reason;
  try {
    GpuPages(0, 1, GpuPages::For::kFabric).handle();
  } catch (const Unavailable& error) {
    reason = std::string(error.what()) + "; " + error.remedy();
  }
  EXPECT_EQ(reason, GetParam().cuda >= 12030
                        ? ""
                        : "the NVIDIA driver, for CUDA " + cuda_version(GetParam().cuda) +
                              ", has no fabric handles: they came with CUDA 12.3; install NVIDIA "
                              "driver 545 or newer");
}

TEST(OlderDriver, IsToldWhatIsNeeded) {
  for (const int cuda : {11080, 11040}) {  // Drivers 520 and 470.
    fake_cuda::set({.driver = cuda});
    const GpuRuntime runtime = gpu_runtime();
    EXPECT_EQ(runtime.devices, 0);
    EXPECT_EQ(runtime.error, "the NVIDIA driver is too old: it is for CUDA " + cuda_version(cuda) +
                                 ", and tierscope needs CUDA 12.0");
    EXPECT_EQ(runtime.remedy, "install NVIDIA driver 525 or newer");
    EXPECT_EQ(copy_skipped("pinned"), runtime.error + "; " + runtime.remedy);
  }
  fake_cuda::set({});
}

TEST(OlderDriver, OrNoneAtAll) {
  fake_cuda::set({.driver = 0});
  EXPECT_EQ(gpu_runtime().error, "no NVIDIA driver (libcuda.so.1) was found");
  EXPECT_EQ(gpu_runtime().remedy,
            "install NVIDIA driver 525 or newer, and in a container pass the GPU on");
  fake_cuda::set({});
}

TEST(Driver, OneThatLacksAFunctionIsRefused) {
  const Exports none = [](const char*) -> void* { return nullptr; };
  EXPECT_EQ(find_functions(none).version, 0);
  const auto version = [](int* cuda) {
    *cuda = 12000;
    return CUDA_SUCCESS;
  };
  const auto lacking = [](const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
    return CUDA_ERROR_NOT_FOUND;
  };
  const Exports some = [&](std::string_view name) -> void* {
    return name == "cuDriverGetVersion"
               ? reinterpret_cast<void*>(static_cast<CUresult (*)(int*)>(version))
               : reinterpret_cast<void*>(static_cast<PFN_cuGetProcAddress_v12000>(lacking));
  };
  try {
    find_functions(some);
    FAIL() << "it was taken";
  } catch (const Failure& error) {
    EXPECT_STREQ(error.what(), "NVIDIA's driver has no cuInit of CUDA 2.0");
  }
}

// Much is called where no GPU was turned to: memory is freed, streams are waited for.
TEST(Driver, NoThreadIsWithoutAContext) {
  fake_cuda::set({});
  const auto current = [] {
    CUcontext context = nullptr;
    cuda().cuCtxGetCurrent(&context);
    return context;
  };
  std::thread([&] {
    {
      const OnGpu on(2);
      EXPECT_EQ(current(), context_of(2));
      const OnGpu other(1);
      EXPECT_EQ(current(), context_of(1));
    }
    EXPECT_NE(current(), nullptr);
  }).join();
  std::thread([&] { EXPECT_NE(current(), nullptr); }).join();
}

// Compute capabilities of GPUs since Volta: CUDA C++ Programming Guide, "Compute Capabilities".
TEST(DeviceCode, EveryGpuFromVoltaToBlackwellHasMachineCode) {
  for (const int capability : {70, 75, 80, 86, 89, 90, 100, 103, 120, 121}) {
    const DeviceCode* const code = code_for(capability, embedded_code());
    ASSERT_NE(code, nullptr) << capability;
    EXPECT_TRUE(code->machine_code) << capability;
    EXPECT_EQ(std::string(static_cast<const char*>(code->data), 4),
              "\x7f"
              "ELF")
        << capability;
  }
}

TEST(DeviceCode, LaterGpusGetPtxAndOlderOnesNothing) {
  const DeviceCode* const later = code_for(130, embedded_code());
  ASSERT_NE(later, nullptr);
  EXPECT_FALSE(later->machine_code);
  EXPECT_NE(std::string_view(static_cast<const char*>(later->data)).find(".target sm_90"),
            std::string_view::npos);
  EXPECT_EQ(code_for(61, embedded_code()), nullptr);
}

// Later drivers of CUDA 12 take later layouts of machine code than 525 does. NVRTC 12.0 gives
// version 7, and so does that of 12.9 for all GPUs that 525 knows; CUDA 13 gives 8.
TEST(DeviceCode, OfGpusThatDriver525KnowsHasTheLayoutThatItLoads) {
  constexpr std::size_t kAbiVersion = 8;  // In an ELF header.
  for (const DeviceCode& code : embedded_code()) {
    if (!code.machine_code || code.capability > 90) continue;
    EXPECT_EQ(static_cast<const char*>(code.data)[kAbiVersion], 7) << code.capability;
  }
}

TEST(DeviceCode, TheNewestThatFitsIsTaken) {
  const DeviceCode all[] = {
      {80, true, nullptr}, {86, true, nullptr}, {70, false, nullptr}, {90, false, nullptr}};
  EXPECT_EQ(code_for(80, all), &all[0]);
  EXPECT_EQ(code_for(89, all), &all[1]);
  EXPECT_EQ(code_for(75, all), &all[2]);
  EXPECT_EQ(code_for(100, all), &all[3]);
  EXPECT_EQ(code_for(61, all), nullptr);
}

}  // namespace
}  // namespace tierscope
