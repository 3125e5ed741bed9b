// BabelStream's operations and random reads by a GPU's multiprocessors on its own memory.
//
// Arrays are double pairs. b holds b(i) = i % 1024 + 1, c holds c(i) = i % 512 + 2: small whole
// numbers, so that every result is exact.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpu/specs.h"

namespace tierscope {

struct StreamArrays {
  double* a;
  double* b;
  double* c;
  std::size_t count;        // Doubles in each, a multiple of 2.
  unsigned long long* sum;  // Memory of the GPU; what reads add up, or count as wrong.
  std::size_t access_size;  // Random reads: bytes that one reads at once.
  std::uint64_t seed;       // Random reads: another seed, another order.
};

inline constexpr double kStreamScalar = 3.0;

// Sets up what the operation reads and puts -1 where it writes.
void fill_stream(const StreamArrays& arrays, GpuOperation operation, cudaStream_t stream);

// Blocks that the current GPU holds at once, and blocks of which each thread works once a pass.
int most_stream_blocks(GpuOperation operation);
int single_pass_blocks(const StreamArrays& arrays);

void launch_stream(const StreamArrays& arrays, GpuOperation operation, int passes, int blocks,
                   cudaStream_t stream);

// Adds to *wrong (memory of the GPU) the elements of a that are not as the operation leaves them.
void compare_stream(const StreamArrays& arrays, GpuOperation operation, unsigned long long* wrong,
                    cudaStream_t stream);

// What one pass of reads adds to *sum: the bits of every b(i), modulo 2^64.
unsigned long long stream_read_sum(std::size_t count);

}  // namespace tierscope
