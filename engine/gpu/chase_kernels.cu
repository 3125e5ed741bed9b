#include "gpu/chase_kernels.h"

namespace tierscope::chase_kernels {

constexpr int kUnroll = 16;

extern "C" __global__ void chain_lay(std::byte* start, std::size_t stride,
                                     const std::uint32_t* next, std::uint32_t slots) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < slots; i += step) {
    *reinterpret_cast<std::byte**>(start + i * stride) = start + next[i] * stride;
  }
}

__device__ std::uint64_t first_slot(const Chase& chase) {
  return reinterpret_cast<std::uint64_t>(chase.start) + chase.first * chase.stride;
}

__device__ void tell_end(const Chase& chase, std::uint64_t at) {
  *chase.last = static_cast<std::uint32_t>((at - reinterpret_cast<std::uint64_t>(chase.start)) /
                                           chase.stride);
}

// Slots hold addresses: an addition between two loads would be a fifth of what the L1 takes.
__device__ void walk(const Chase& chase) {
  std::uint64_t at = first_slot(chase);
  // Cached at every level the memory can be cached at; volatile keeps each load.
  const auto load = [&] { asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at) : : "memory"); };
  std::uint32_t i = 0;
  for (; i + kUnroll <= chase.loads; i += kUnroll) {
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) load();
  }
  for (; i < chase.loads; ++i) load();
  tell_end(chase, at);
}

extern "C" __global__ void chase_once(Chase chase) { walk(chase); }

extern "C" __global__ void chase_bulk(Chase chase) {
#if __CUDA_ARCH__ >= 900
  __shared__ __align__(16) std::uint64_t link[2];
  __shared__ __align__(8) std::uint64_t arrived;
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(link));
  const auto barrier = static_cast<unsigned>(__cvta_generic_to_shared(&arrived));
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  std::uint64_t at = first_slot(chase);
  for (std::uint32_t i = 0; i < chase.loads; ++i) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(barrier)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" ::
            "r"(to),
        "l"(at), "r"(barrier)
        : "memory");
    unsigned done = 0;
    while (done == 0) {
      asm volatile(
          "{\n"
          ".reg .pred arrived;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 arrived, [%1], %2;\n"
          "selp.u32 %0, 1, 0, arrived;\n"
          "}\n"
          : "=r"(done)
          : "r"(barrier), "r"(i % 2)
          : "memory");
    }
    at = *static_cast<volatile std::uint64_t*>(link);
  }
  tell_end(chase, at);
#else
  __trap();  // The caller has looked at the compute capability.
#endif
}

__device__ int current_multiprocessor() {
  int id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

extern "C" __global__ void chase_on(Chase chase, int multiprocessor, unsigned* ran) {
  if (current_multiprocessor() != multiprocessor) return;
  if (atomicExch(ran, 1U) != 0) return;  // Another block came here first.
  walk(chase);
}

}  // namespace tierscope::chase_kernels
