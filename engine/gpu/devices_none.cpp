// Stands in for devices.cpp in a build without CUDA.
#include "gpu/devices.h"

namespace tierscope {

GpuRuntime gpu_runtime() {
  return {.built = false,
          .runtime = 0,
          .driver = 0,
          .devices = 0,
          .error = "this build was made with TIERSCOPE_CUDA=0",
          .remedy = "build without TIERSCOPE_CUDA=0"};
}

}  // namespace tierscope
