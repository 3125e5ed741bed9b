#include "gpu/device_code.h"

#include <tuple>

namespace tierscope {

const DeviceCode* code_for(int capability, std::span<const DeviceCode> all) {
  const DeviceCode* best = nullptr;
  for (const DeviceCode& one : all) {
    const bool same_major = one.capability / 10 == capability / 10;
    if (one.capability > capability || (one.machine_code && !same_major)) continue;
    if (best == nullptr || std::tie(one.machine_code, one.capability) >
                               std::tie(best->machine_code, best->capability)) {
      best = &one;
    }
  }
  return best;
}

}  // namespace tierscope
