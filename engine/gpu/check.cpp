#include "gpu/check.h"

#include <fmt/format.h>

#include "errors.h"
#include "gpu/driver.h"

namespace tierscope {

std::string describe(CUresult error) {
  const char* text = nullptr;
  const char* name = nullptr;
  loaded_driver().cuGetErrorString(error, &text);
  loaded_driver().cuGetErrorName(error, &name);
  if (text == nullptr || name == nullptr)
    return fmt::format("error {} of CUDA", static_cast<int>(error));
  return fmt::format("{} ({})", text, name);
}

void check_cuda(CUresult error, const std::string& doing) {
  if (error == CUDA_SUCCESS) return;
  const std::string what = fmt::format("{}: {}", doing, describe(error));
  if (error == CUDA_ERROR_OUT_OF_MEMORY) {
    throw Unavailable(Cause::kMemory, what,
                      "ask for a smaller size, or free the GPU of other processes");
  }
  // An error that stays makes every later call fail: only a new process gets a new context.
  std::size_t free = 0;
  std::size_t total = 0;
  if (cuda().cuMemGetInfo(&free, &total) != CUDA_SUCCESS) throw UnusableProcess(what);
  throw Failure(what, Cause::kGpuError);
}

}  // namespace tierscope
