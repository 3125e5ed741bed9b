#include <cuda_runtime_api.h>

#include "gpu/devices.h"

namespace tierscope {

GpuRuntime gpu_runtime() {
  GpuRuntime found{
      .built = true, .runtime = CUDART_VERSION, .driver = 0, .devices = 0, .error = {}};
  cudaDriverGetVersion(&found.driver);  // Gives 0, and no error, where there is no driver.
  if (found.driver == 0) {
    found.error = "no NVIDIA driver (libcuda.so.1) was found";
    return found;
  }
  const cudaError_t error = cudaGetDeviceCount(&found.devices);
  if (error != cudaSuccess) {
    found.devices = 0;
    found.error = cudaGetErrorString(error);
  }
  return found;
}

}  // namespace tierscope
