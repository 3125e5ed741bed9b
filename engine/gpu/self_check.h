// Whether the GPU kernels of this build compute what the CPU does.
#pragma once

#include <string>

namespace tierscope {

// Runs every kernel at odd sizes and offsets on every GPU and compares with the CPU's own results.
// Returns what was compared, a line each; throws Failure at the first difference and Unavailable
// where there is no GPU.
std::string check_gpu_kernels();

// The part of it that checks cells of storage; returns how many blocks were checked.
int check_cells_on(int gpu);

}  // namespace tierscope
