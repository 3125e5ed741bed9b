#include "gpu/driver_version.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "errors.h"
#include "gpu/devices.h"
#include "gpu/fake_cuda.h"
#include "gpu/gpu_kinds.h"

namespace tierscope {
namespace {

TEST(DriverVersion, AnOlderMajorVersionIsTooOld) {
  EXPECT_TRUE(driver_is_too_old(12080, 13000));
  EXPECT_FALSE(driver_is_too_old(13000, 13020));
  EXPECT_FALSE(driver_is_too_old(14000, 13000));
  EXPECT_FALSE(driver_is_too_old(0, 13000));
}

TEST(DriverVersion, WhatIsTooOldIsToldWhatIsNeeded) {
  EXPECT_EQ(too_old_reason(12020, 13000),
            "the NVIDIA driver is too old: it is for CUDA 12.2, and this engine needs CUDA 13.0");
  EXPECT_EQ(needed_driver(13000), "NVIDIA driver 580");
  EXPECT_EQ(needed_driver(12080), "NVIDIA driver 525");
  EXPECT_EQ(needed_driver(14010), "an NVIDIA driver for CUDA 14.1");
}

TEST(DriverVersion, MeasurementsAreSkippedWithTheVersionThatIsNeeded) {
  const int old = CUDART_VERSION - 1000;
  fake_cuda::set({.driver = old});
  const GpuRuntime runtime = gpu_runtime();
  EXPECT_EQ(runtime.devices, 0);
  EXPECT_EQ(runtime.error, too_old_reason(old, CUDART_VERSION));
  EXPECT_EQ(runtime.remedy, "install " + needed_driver(CUDART_VERSION) + " or newer");
  try {
    Repeated("gpu-copy", copy_plan({transfer(host_memory(), memory_of(0), 0)})).repetition();
    FAIL() << "it was measured";
  } catch (const Unavailable& error) {
    EXPECT_EQ(error.cause(), Cause::kGpu);
    EXPECT_EQ(error.what(), runtime.error);
    EXPECT_EQ(error.remedy(), runtime.remedy);
  }
  fake_cuda::set({});
}

TEST(DriverVersion, WithoutADriverItsVersionIsSaidToo) {
  fake_cuda::set({.driver = 0});
  EXPECT_NE(gpu_runtime().remedy.find(needed_driver(CUDART_VERSION)), std::string::npos);
  fake_cuda::set({});
}

}  // namespace
}  // namespace tierscope
