#include "gpu/driver_version.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "errors.h"
#include "gpu/driver.h"

namespace tierscope {
namespace {

// CUDA Toolkit release notes, "CUDA Toolkit and Corresponding Driver Versions" (Linux).
constexpr std::array<std::pair<int, int>, 4> kBranches{{{kOldestCuda, 525},
                                                        {kCudaOfHostNodes, 535},
                                                        {kCudaOfFabricHandles, 545},
                                                        {kCudaOfBatches, 570}}};

}  // namespace

std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::string driver_for(int cuda) {
  for (const auto& [version, branch] : kBranches) {
    if (version == cuda) return fmt::format("NVIDIA driver {}", branch);
  }
  return fmt::format("an NVIDIA driver for CUDA {}", cuda_version(cuda));
}

std::string too_old_reason(int driver, int needed) {
  return fmt::format("the NVIDIA driver is too old: it is for CUDA {}, and tierscope needs CUDA {}",
                     cuda_version(driver), cuda_version(needed));
}

void require_driver_of_host_nodes(int driver) {
  if (driver >= kCudaOfHostNodes) return;
  throw Unavailable(
      Cause::kGpuFeature,
      fmt::format("the NVIDIA driver, for CUDA {}, cannot move managed memory to a NUMA node: "
                  "that came with CUDA {}",
                  cuda_version(driver), cuda_version(kCudaOfHostNodes)),
      fmt::format("install {} or newer, or measure pinned memory", driver_for(kCudaOfHostNodes)));
}

}  // namespace tierscope
