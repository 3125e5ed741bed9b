// Copies by a GPU's multiprocessors.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace tierscope {

// How the kernels are written, and so launched.
namespace copy_kernels {
inline constexpr int kThreads = 512;
inline constexpr int kUnroll = 4;  // Loads in flight a thread before its first store.
inline constexpr int kExchangeThreads = 1024;
// Bulk copies: a ring of stages in shared memory.
inline constexpr int kStages = 8;
inline constexpr unsigned kStageBytes = 8192;
}  // namespace copy_kernels

// All of these are about the current GPU.

// Blocks of the copy kernel that the GPU holds at once.
int most_copy_blocks();

// Blocks with which each thread works but once.
int single_pass_copy_blocks(std::size_t bytes);

// Copies `bytes` `passes` times, in 16-byte vectors where both ends are aligned alike (the odd
// bytes before and after one by one), else byte by byte.
void launch_copy(std::byte* destination, const std::byte* source, std::size_t bytes, int passes,
                 int blocks, CUstream stream);

struct CopyEnds {
  std::byte* to;
  const std::byte* from;
};

// Two copies of `bytes` each by one kernel, in step: neither is ahead of the other by more than
// what the GPU holds at once, so that both are contested to their end. All ends are aligned to
// 16 bytes.
int most_exchange_blocks();
void launch_exchange(const CopyEnds& there, const CopyEnds& back, std::size_t bytes, int passes,
                     int blocks, CUstream stream);

// The copy with the bulk copy unit (TMA), through shared memory. Both ends are aligned to 16 bytes.
bool has_bulk_copy(int compute_capability_major);
int most_bulk_blocks();
void launch_bulk_copy(std::byte* destination, const std::byte* source, std::size_t bytes,
                      int passes, int blocks, CUstream stream);

}  // namespace tierscope
