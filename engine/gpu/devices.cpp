#include "gpu/devices.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <string>

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
  GpuRuntime found{.built = true,
                   .runtime = CUDART_VERSION,
                   .driver = 0,
                   .devices = 0,
                   .error = {},
                   .remedy = {}};
  cudaDriverGetVersion(&found.driver);  // Gives 0, and no error, where there is no driver.
  const std::string needed = "install " + needed_driver(CUDART_VERSION) + " or newer";
  found.remedy = needed + ", and in a container pass the GPU on";
  if (found.driver == 0) {
    found.error = "no NVIDIA driver (libcuda.so.1) was found";
    return found;
  }
  if (driver_is_too_old(found.driver, CUDART_VERSION)) {
    found.error = too_old_reason(found.driver, CUDART_VERSION);
    found.remedy = needed;
    return found;
  }
  const cudaError_t error = cudaGetDeviceCount(&found.devices);
  if (error != cudaSuccess) {
    found.devices = 0;
    found.error = cudaGetErrorString(error);
  } else if (found.devices == 0) {
    found.error = "no GPU was found";
  }
  return found;
}

}  // namespace tierscope
