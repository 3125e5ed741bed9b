#include "gpu/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tierscope {
namespace {

template <typename Function>
void resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

Nvml load_nvml() {
  Nvml found;
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    found.missing = "libnvidia-ml.so.1, a part of the driver, was not found";
    return found;
  }
  nvmlReturn_t (*start)() = nullptr;
  resolve(library, "nvmlInit_v2", start);
  const nvmlReturn_t started = start == nullptr ? NVML_ERROR_FUNCTION_NOT_FOUND : start();
  if (started != NVML_SUCCESS) {
    found.missing = fmt::format("NVML did not start: error {}", static_cast<int>(started));
    return found;
  }
  resolve(library, "nvmlDeviceGetHandleByPciBusId_v2", found.device_by_address);
  resolve(library, "nvmlDeviceGetClockInfo", found.clock);
  resolve(library, "nvmlDeviceGetPowerUsage", found.power);
  resolve(library, "nvmlDeviceGetTemperature", found.temperature);
  resolve(library, "nvmlDeviceGetCurrentClocksThrottleReasons", found.throttle_reasons);
  resolve(library, "nvmlDeviceGetCurrPcieLinkGeneration", found.link_generation);
  resolve(library, "nvmlDeviceGetCurrPcieLinkWidth", found.link_width);
  resolve(library, "nvmlDeviceGetPcieReplayCounter", found.replays);
  resolve(library, "nvmlDeviceGetGpuFabricInfoV", found.fabric);
  resolve(library, "nvmlDeviceGetCount_v2", found.device_count);
  resolve(library, "nvmlDeviceGetHandleByIndex_v2", found.device_by_index);
  resolve(library, "nvmlDeviceGetPciInfo_v3", found.pci_info);
  resolve(library, "nvmlDeviceGetPcieThroughput", found.pcie_throughput);
  resolve(library, "nvmlGpmQueryDeviceSupport", found.gpm_support);
  resolve(library, "nvmlGpmSampleAlloc", found.gpm_alloc);
  resolve(library, "nvmlGpmSampleFree", found.gpm_free);
  resolve(library, "nvmlGpmSampleGet", found.gpm_get);
  resolve(library, "nvmlGpmMetricsGet", found.gpm_metrics);
  return found;
}

}  // namespace

const Nvml& nvml() {
  static const Nvml library = load_nvml();
  return library;
}

}  // namespace tierscope
