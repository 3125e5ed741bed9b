#include "gpu/driver.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <mutex>

#include "errors.h"
#include "gpu/check.h"
#include "gpu/driver_version.h"

namespace tierscope {
namespace {

std::atomic<CUcontext> newest_context{nullptr};

template <typename Function>
void find(PFN_cuGetProcAddress_v12000 get, const char* name, int version, int driver,
          Function& function) {
  if (version > driver) return;
  void* found = nullptr;
  CUdriverProcAddressQueryResult result{};
  const CUresult error = get(name, &found, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &result);
  if (error != CUDA_SUCCESS || found == nullptr) {
    throw Failure(fmt::format("NVIDIA's driver has no {} of CUDA {}", name, cuda_version(version)),
                  Cause::kGpuError);
  }
  function = reinterpret_cast<Function>(found);
}

}  // namespace

Driver find_functions(const Exports& exports) {
  Driver found;
  const auto version = reinterpret_cast<PFN_cuDriverGetVersion>(exports("cuDriverGetVersion"));
  if (version == nullptr || version(&found.version) != CUDA_SUCCESS) return {};
  if (found.version < kOldestCuda) return found;
  const auto get = reinterpret_cast<PFN_cuGetProcAddress_v12000>(exports("cuGetProcAddress_v2"));
  if (get == nullptr) throw Failure("libcuda.so.1 has no cuGetProcAddress_v2", Cause::kGpuError);
#define TIERSCOPE_FIND(name, since) find(get, #name, since, found.version, found.name);
  TIERSCOPE_CUDA_FUNCTIONS(TIERSCOPE_FIND)
#undef TIERSCOPE_FIND
  return found;
}

const Driver& cuda() {
  thread_local bool has_context = false;
  const Driver& driver = loaded_driver();
  if (!has_context && newest_context.load() != nullptr) {
    CUcontext current = nullptr;
    driver.cuCtxGetCurrent(&current);
    if (current == nullptr) driver.cuCtxSetCurrent(newest_context.load());
    has_context = true;
  }
  return driver;
}

CUcontext context_of(int gpu) {
  static std::mutex mutex;
  static std::array<CUcontext, kMostGpus> contexts{};
  const std::lock_guard lock(mutex);
  CUcontext& context = contexts.at(static_cast<std::size_t>(gpu));
  if (context == nullptr) {
    check_cuda(loaded_driver().cuDevicePrimaryCtxRetain(&context, gpu),
               fmt::format("starting GPU {}", gpu));
  }
  newest_context = context;
  return context;
}

}  // namespace tierscope
