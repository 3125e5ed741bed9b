#include "gpu/driver_version.h"

#include <fmt/format.h>

namespace tierscope {
namespace {

constexpr int kMajor = 1000;  // CUDA counts 13.0 as 13000.

}  // namespace

std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / kMajor, number % kMajor / 10);
}

bool driver_is_too_old(int driver, int runtime) {
  return driver > 0 && driver / kMajor < runtime / kMajor;
}

std::string too_old_reason(int driver, int runtime) {
  return fmt::format(
      "the NVIDIA driver is too old: it is for CUDA {}, and this engine needs CUDA {}.0",
      cuda_version(driver), runtime / kMajor);
}

// Branches of Linux drivers: CUDA Toolkit release notes, "CUDA Toolkit and Minimum Required Driver
// Version for CUDA Minor Version Compatibility".
std::string needed_driver(int runtime) {
  switch (runtime / kMajor) {
    case 12:
      return "NVIDIA driver 525";
    case 13:
      return "NVIDIA driver 580";
    default:
      return fmt::format("an NVIDIA driver for CUDA {}", cuda_version(runtime));
  }
}

}  // namespace tierscope
