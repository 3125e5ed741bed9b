// BabelStream's operations and random reads by a GPU's multiprocessors on its own memory.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "gpu/stream_arrays.h"

namespace tierscope {

// Sets up what the operation reads and puts -1 where it writes.
void fill_stream(const StreamArrays& arrays, GpuOperation operation, CUstream stream);

// Blocks that the current GPU holds at once, and blocks of which each thread works once a pass.
int most_stream_blocks(GpuOperation operation);
int single_pass_blocks(const StreamArrays& arrays);

void launch_stream(const StreamArrays& arrays, GpuOperation operation, int passes, int blocks,
                   CUstream stream);

// Adds to *wrong (memory of the GPU) the elements of a that are not as the operation leaves them.
void compare_stream(const StreamArrays& arrays, GpuOperation operation, unsigned long long* wrong,
                    CUstream stream);

// What one pass of reads adds to *sum: the bits of every b(i), modulo 2^64.
unsigned long long stream_read_sum(std::size_t count);

}  // namespace tierscope
