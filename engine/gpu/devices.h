// Which GPUs there are; answers on every machine, with a driver or without.
#pragma once

#include <string>

namespace tierscope {

struct GpuRuntime {
  bool built;          // This build has the GPU part.
  int cuda;            // The CUDA that it was built with, as CUDA counts versions: 13000 for 13.0.
  int driver;          // The newest CUDA version that the driver takes; 0 without a driver.
  int devices;         // GPUs that can be used.
  std::string error;   // Why there are none,
  std::string remedy;  // and what to do about it.
};

GpuRuntime gpu_runtime();

}  // namespace tierscope
