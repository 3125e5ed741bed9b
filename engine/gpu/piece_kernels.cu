#include <cstdint>

#include "gpu/piece_kernels.h"

namespace tierscope::piece_kernels {

// A warp moves a run of one piece at a time: kUnroll vectors a lane, all loads before the first
// store. Runs of all pieces are dealt to all warps, so pieces need not be as many as warps. Loads
// go past the L1 (__ldcg): a later launch may find other bytes at the same place.
extern "C" __global__ void __launch_bounds__(kThreads) move_pieces(PieceMove move) {
  constexpr std::size_t kWarp = 32;
  constexpr std::size_t kRun = kWarp * kUnroll;
  const std::size_t warps = std::size_t{gridDim.x} * blockDim.x / kWarp;
  const std::size_t warp = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  const std::size_t lane = threadIdx.x % kWarp;
  const std::size_t vectors = move.bytes / sizeof(uint4);
  const std::size_t runs = (vectors + kRun - 1) / kRun;
  for (std::size_t i = warp; i < move.count * runs; i += warps) {
    const PieceEnds ends = move.ends[i / runs];
    std::byte* const pooled = move.pool + ends.pool;
    std::byte* const stored = move.store + ends.store;
    const auto* from = reinterpret_cast<const uint4*>(move.to_pool ? stored : pooled);
    auto* to = reinterpret_cast<uint4*>(move.to_pool ? pooled : stored);
    const std::size_t first = i % runs * kRun + lane;
    uint4 found[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      const std::size_t at = first + k * kWarp;
      if (at < vectors) found[k] = __ldcg(from + at);
    }
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      const std::size_t at = first + k * kWarp;
      if (at < vectors) to[at] = found[k];
    }
  }
}

}  // namespace tierscope::piece_kernels
