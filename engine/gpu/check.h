// CUDA's errors as ours.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace tierscope {

// Throws for anything but success, naming what was being done: Unavailable where memory ran out,
// UnusableProcess where the error leaves the GPU's context unusable, else Failure.
void check_cuda(cudaError_t error, const std::string& doing);

}  // namespace tierscope
