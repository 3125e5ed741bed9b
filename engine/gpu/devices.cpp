#include "gpu/devices.h"

#include <cstdlib>
#include <string>

#include "errors.h"
#include "gpu/check.h"
#include "gpu/driver.h"
#include "gpu/driver_version.h"

namespace tierscope {
namespace {

// Sets what CUDA reads from the environment when it starts.
void prepare_cuda() {
  // Numbers GPUs as NVML and the bus do, whatever the user's other programs are told: the topology
  // is read in this order.
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  // What other programs may want makes streams wait for each other, and some of them wait at the
  // gate: kernels that are loaded at their first launch, launches that block, a single queue.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  setenv("CUDA_LAUNCH_BLOCKING", "0", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(kQueues).c_str(), 1);
}

}  // namespace

GpuRuntime gpu_runtime() {
  prepare_cuda();
  GpuRuntime found{
      .built = true, .cuda = CUDA_VERSION, .driver = 0, .devices = 0, .error = {}, .remedy = {}};
  const std::string needed = "install " + driver_for(kOldestCuda) + " or newer";
  found.remedy = needed + ", and in a container pass the GPU on";
  try {
    found.driver = loaded_driver().version;
  } catch (const Failure& error) {
    found.error = error.what();
    return found;
  }
  if (found.driver == 0) {
    found.error = "no NVIDIA driver (libcuda.so.1) was found";
    return found;
  }
  if (found.driver < kOldestCuda) {
    found.error = too_old_reason(found.driver, kOldestCuda);
    found.remedy = needed;
    return found;
  }
  CUresult error = loaded_driver().cuInit(0);
  if (error == CUDA_SUCCESS) error = loaded_driver().cuDeviceGetCount(&found.devices);
  if (error != CUDA_SUCCESS) {
    found.devices = 0;
    found.error = describe(error);
  } else if (found.devices == 0) {
    found.error = "no GPU was found";
  }
  return found;
}

}  // namespace tierscope
