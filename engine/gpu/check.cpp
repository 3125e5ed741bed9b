#include "gpu/check.h"

#include <fmt/format.h>

#include "errors.h"

namespace tierscope {

void check_cuda(cudaError_t error, const std::string& doing) {
  if (error == cudaSuccess) return;
  const std::string what =
      fmt::format("{}: {} ({})", doing, cudaGetErrorString(error), cudaGetErrorName(error));
  cudaGetLastError();  // Clears what can be cleared.
  if (error == cudaErrorMemoryAllocation) {
    throw Unavailable(Cause::kMemory, what,
                      "ask for a smaller size, or free the GPU of other processes");
  }
  // An error that stays makes every later call fail: only a new process gets a new context.
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) throw UnusableProcess(what);
  throw Failure(what, Cause::kGpuError);
}

}  // namespace tierscope
