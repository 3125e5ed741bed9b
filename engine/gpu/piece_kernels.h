// Pieces of a cache that a GPU's multiprocessors gather or scatter.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "gpu/piece_ends.h"

namespace tierscope {

// How the kernel is written, and so launched.
namespace piece_kernels {
inline constexpr int kThreads = 1024;
inline constexpr int kUnroll = 4;  // Loads in flight a thread before its first store.
}  // namespace piece_kernels

struct PieceMove {
  std::byte* pool;
  std::byte* store;
  const PieceEnds* ends;  // Memory that the GPU reaches.
  std::size_t count;
  std::size_t bytes;  // Of each piece; it and all ends are multiples of 16.
  bool to_pool;       // Else from the pool.
};

// On the current GPU. Each block has kThreads threads, so that it takes up one multiprocessor at
// most, half of a large one's threads.
void launch_pieces(const PieceMove& move, int blocks, CUstream stream);

}  // namespace tierscope
