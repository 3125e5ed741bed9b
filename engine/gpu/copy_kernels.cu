#include <cstdint>

#include "gpu/copy_kernels.h"

namespace tierscope::copy_kernels {

// Bulk copies: half of the stages are loading while half are storing.
[[maybe_unused]] constexpr int kAhead = kStages / 2;

// Loads go past the L1 (__ldcg): a thread comes back to the same places in every pass.
__device__ void copy_vectors(uint4* to, const uint4* from, std::size_t count) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i + (kUnroll - 1) * threads < count; i += kUnroll * threads) {
    uint4 vectors[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) vectors[k] = __ldcg(from + i + k * threads);
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) to[i + k * threads] = vectors[k];
  }
  for (; i < count; i += threads) to[i] = __ldcg(from + i);
}

__device__ void copy_bytes(std::byte* to, const std::byte* from, std::size_t count) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (; i < count; i += threads) to[i] = static_cast<std::byte>(__ldcg(bytes + i));
}

extern "C" __global__ void __launch_bounds__(kThreads)
    copy(std::byte* to, const std::byte* from, std::size_t bytes, int passes) {
  constexpr std::size_t kVector = sizeof(uint4);
  const auto skew = reinterpret_cast<std::uintptr_t>(to) % kVector;
  const bool alike = reinterpret_cast<std::uintptr_t>(from) % kVector == skew;
  const std::size_t head = alike ? min((kVector - skew) % kVector, bytes) : bytes;
  const std::size_t vectors = (bytes - head) / kVector;
  const std::size_t done = head + vectors * kVector;
  for (int pass = 0; pass < passes; ++pass) {
    copy_bytes(to, from, head);
    copy_vectors(reinterpret_cast<uint4*>(to + head), reinterpret_cast<const uint4*>(from + head),
                 vectors);
    copy_bytes(to + done, from + done, bytes - done);
    asm volatile("" ::: "memory");  // Each pass loads and stores anew.
  }
}

// Of each block every other warp copies one way, the rest the other way. A block waits for both
// ways before its next chunk, so that neither gets ahead of the other by more than that.
extern "C" __global__ void __launch_bounds__(kExchangeThreads)
    exchange(CopyEnds there, CopyEnds back, std::size_t bytes, int passes) {
  constexpr unsigned kWarp = 32;
  constexpr std::size_t kChunk = kExchangeThreads / 2;
  const bool odd = threadIdx.x / kWarp % 2 == 1;
  const CopyEnds ends = odd ? back : there;
  auto* to = reinterpret_cast<uint4*>(ends.to);
  const auto* from = reinterpret_cast<const uint4*>(ends.from);
  const std::size_t member = threadIdx.x / (2 * kWarp) * kWarp + threadIdx.x % kWarp;
  const std::size_t vectors = bytes / sizeof(uint4);
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t chunk = blockIdx.x * kChunk; chunk < vectors; chunk += gridDim.x * kChunk) {
      const std::size_t i = chunk + member;
      if (i < vectors) to[i] = __ldcg(from + i);
      __syncthreads();
    }
    const std::size_t rest = vectors * sizeof(uint4) + member;
    if (blockIdx.x == 0 && rest < bytes) ends.to[rest] = ends.from[rest];
    asm volatile("" ::: "memory");  // Each pass loads and stores anew.
  }
}

#if __CUDA_ARCH__ >= 900
__device__ void wait_until_loaded(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ void load_stage(unsigned stage, unsigned barrier, const std::byte* from,
                           unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(stage),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

__device__ void store_stage(std::byte* to, unsigned stage, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(stage),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
#endif

// One thread a block drives the unit. Chunk k of the block's own goes through stage k % kStages.
extern "C" __global__ void bulk_copy(std::byte* to, const std::byte* from, std::size_t bytes,
                                     int passes) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) std::byte ring[];
  __shared__ __align__(8) std::uint64_t loaded[kStages];
  const std::size_t even = bytes / 16 * 16;
  if (blockIdx.x == 0) {
    for (std::size_t i = even + threadIdx.x; i < bytes; i += blockDim.x) to[i] = from[i];
  }
  if (threadIdx.x != 0) return;
  const auto stage_at = [](std::size_t k) {
    return static_cast<unsigned>(__cvta_generic_to_shared(ring + k % kStages * kStageBytes));
  };
  const auto barrier_at = [](std::size_t k) {
    return static_cast<unsigned>(__cvta_generic_to_shared(loaded + k % kStages));
  };
  for (int stage = 0; stage < kStages; ++stage) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier_at(stage)) : "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  const std::size_t chunks = (even + kStageBytes - 1) / kStageBytes;
  const std::size_t each = blockIdx.x < chunks ? (chunks - 1 - blockIdx.x) / gridDim.x + 1 : 0;
  const std::size_t all = each * static_cast<std::size_t>(passes);
  const auto place = [&](std::size_t k) {
    return (blockIdx.x + k % each * gridDim.x) * kStageBytes;
  };
  const auto length = [&](std::size_t k) {
    return static_cast<unsigned>(min(static_cast<std::size_t>(kStageBytes), even - place(k)));
  };
  for (std::size_t k = 0; k < all + kAhead; ++k) {
    if (k < all) {
      // Chunk k - kStages must have left the stage; kAhead - 1 stores after it may be under way.
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kStages - kAhead - 1) : "memory");
      load_stage(stage_at(k), barrier_at(k), from + place(k), length(k));
    }
    if (k >= kAhead) {
      const std::size_t done = k - kAhead;
      wait_until_loaded(barrier_at(done), done / kStages % 2);
      store_stage(to + place(done), stage_at(done), length(done));
    }
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#else
  __trap();  // The caller has looked at the compute capability.
#endif
}

}  // namespace tierscope::copy_kernels
