#include "gpu/check.h"
#include "gpu/gate.h"

namespace tierscope {
namespace {

// One thread that polls over the link; each poll takes about a microsecond there.
__global__ void wait_for(const volatile unsigned* opened, unsigned round) {
  while (*opened < round) {
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

Gate::Gate() {
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, sizeof(unsigned), cudaHostAllocPortable | cudaHostAllocMapped),
             "allocating the gate");
  opened_ = static_cast<volatile unsigned*>(memory);
  *opened_ = 0;
}

Gate::~Gate() {
  *opened_ = ~0U;
  cudaFreeHost(const_cast<unsigned*>(opened_));  // Waits for all streams first.
}

void Gate::hold(cudaStream_t stream) {
  wait_for<<<1, 1, 0, stream>>>(opened_, round_);
  check_cuda(cudaGetLastError(), "holding a stream at the gate");
}

void Gate::open() { *opened_ = round_; }

}  // namespace tierscope
