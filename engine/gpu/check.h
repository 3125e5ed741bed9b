// CUDA's errors as ours.
#pragma once

#include <cuda.h>

#include <string>

namespace tierscope {

// Throws for anything but success, naming what was being done: Unavailable where memory ran out,
// UnusableProcess where the error leaves the GPU's context unusable, else Failure.
void check_cuda(CUresult error, const std::string& doing);

// As in "out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
std::string describe(CUresult error);

}  // namespace tierscope
