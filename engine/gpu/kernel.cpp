#include "gpu/kernel.h"

#include <fmt/format.h>

#include <mutex>

#include "gpu/device.h"
#include "gpu/device_code.h"

namespace tierscope {
namespace {

int current_gpu() {
  CUdevice gpu = 0;
  check_cuda(cuda().cuCtxGetDevice(&gpu), "asking for the current GPU");
  return gpu;
}

// Null where this build has no code for the GPU.
CUmodule module_of(int gpu) {
  static std::mutex mutex;
  static std::array<CUmodule, kMostGpus> modules{};
  const std::lock_guard lock(mutex);
  CUmodule& loaded = modules.at(static_cast<std::size_t>(gpu));
  if (loaded != nullptr) return loaded;
  const DeviceCode* const code = code_for(capability_of(gpu), embedded_code());
  if (code == nullptr) return nullptr;
  const CUresult error = cuda().cuModuleLoadData(&loaded, code->data);
  if (error != CUDA_ERROR_NO_BINARY_FOR_GPU) check_cuda(error, "loading the kernels");
  return loaded;
}

}  // namespace

CUfunction NamedKernel::function() {
  const int gpu = current_gpu();
  std::atomic<CUfunction>& known = functions_.at(static_cast<std::size_t>(gpu));
  CUfunction found = known.load(std::memory_order_relaxed);
  if (found == nullptr) {
    check_cuda(cuda().cuModuleGetFunction(&found, module_of(gpu), name_),
               fmt::format("looking for the kernel {}", name_));
    known = found;
  }
  return found;
}

int NamedKernel::most_blocks(unsigned threads, std::size_t shared) {
  int each = 0;
  check_cuda(cuda().cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, function(),
                                                                static_cast<int>(threads), shared),
             "asking for a kernel's occupancy");
  return attribute_of(current_gpu(), CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) * each;
}

void NamedKernel::allow_shared(std::size_t bytes) {
  check_cuda(cuda().cuFuncSetAttribute(function(), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       static_cast<int>(bytes)),
             "asking for shared memory");
}

bool runs_kernels() { return module_of(current_gpu()) != nullptr; }

}  // namespace tierscope
