// Which GPUs there are; answers on every machine, with a driver or without.
#pragma once

#include <cstddef>
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

// Queues of a GPU, as many as CUDA can have. More streams than these share them: one that waits at
// a gate behind another's work passes it when that is done, and not with the others.
constexpr std::size_t kQueues = 32;

}  // namespace tierscope
