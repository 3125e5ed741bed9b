// The measurements on GPUs. In a build without CUDA each throws Unavailable (measure_none.cpp).
#pragma once

#include "benches/bench.h"
#include "gpu/specs.h"

namespace tierscope {

// Moves bytes in all transfers at once and reports those asked for, each over the time in which all
// were under way; of those that GPUs serve in turn, until all bytes were moved. Unit B/s; bytes
// count once for a copy from one memory to another.
Outcome measure_gpu_copy(const GpuCopySpec& spec, Workspace& workspace, const Progress& progress);

// Bandwidth of a GPU's own memory or L2 under loads and stores of its multiprocessors. Unit B/s;
// bytes count as STREAM counts them: copy of n bytes is 2n.
Outcome measure_gpu_memory(const GpuMemorySpec& spec, Workspace& workspace,
                           const Progress& progress);

// Time of one of a chain of dependent loads by one thread of a GPU, in ns.
Outcome measure_gpu_latency(const GpuLatencySpec& spec, Workspace& workspace,
                            const Progress& progress);

// Runs every kernel at odd sizes and offsets on every GPU and compares with the CPU's own results.
// Returns what was compared, a line each; throws Failure at the first difference and Unavailable
// where there is no GPU.
std::string check_gpu_kernels();

}  // namespace tierscope
