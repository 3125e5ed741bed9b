#include "gpu/check.h"
#include "gpu/gate.h"

namespace tierscope {
namespace {

// One thread that polls over the link; each poll takes about a microsecond there.
__global__ void wait_for(const volatile unsigned* opened, unsigned round) {
  while (*opened < round) {
  }
}

__global__ void wait_for_either(const volatile unsigned* flag, const volatile unsigned* other,
                                unsigned round) {
  while (*flag < round && *other < round) {
  }
}

__global__ void wait_and_set(const volatile unsigned* flag, volatile unsigned* const* others,
                             int count, unsigned round) {
  if (threadIdx.x == 0) {
    while (*flag < round) {
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    *others[i] = round;
  }
}

}  // namespace

bool runs_kernels() {
  cudaFuncAttributes attributes{};
  const cudaError_t error =
      cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(wait_for));
  cudaGetLastError();
  return error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction;
}

HostGate::HostGate() {
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, sizeof(unsigned), cudaHostAllocPortable | cudaHostAllocMapped),
             "allocating the gate");
  opened_ = static_cast<volatile unsigned*>(memory);
  *opened_ = 0;
}

HostGate::~HostGate() {
  *opened_ = ~0U;
  cudaFreeHost(const_cast<unsigned*>(opened_));  // Waits for all streams first.
}

void HostGate::hold(cudaStream_t stream) {
  wait_for<<<1, 1, 0, stream>>>(opened_, round_);
  check_cuda(cudaGetLastError(), "holding a stream at the gate");
}

void HostGate::open() { *opened_ = round_; }

void hold_until(const volatile unsigned* flag, const volatile unsigned* other, unsigned round,
                cudaStream_t stream) {
  wait_for_either<<<1, 1, 0, stream>>>(flag, other, round);
  check_cuda(cudaGetLastError(), "holding a stream at the gate");
}

void hold_and_set(const volatile unsigned* flag, volatile unsigned* const* others, int count,
                  unsigned round, cudaStream_t stream) {
  constexpr unsigned kThreads = 128;
  wait_and_set<<<1, kThreads, 0, stream>>>(flag, others, count, round);
  check_cuda(cudaGetLastError(), "holding a stream at the gate");
}

}  // namespace tierscope
