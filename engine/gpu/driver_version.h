// Which driver has what CUDA. Plain values; nothing here asks the machine.
#pragma once

#include <string>

namespace tierscope {

// "13.0" of 13000, as CUDA numbers its versions.
std::string cuda_version(int number);

// The first driver of a CUDA version, as in "NVIDIA driver 525" of 12.0.
std::string driver_for(int cuda);

// Says that a driver for CUDA `driver` is too old for what needs CUDA `needed`.
std::string too_old_reason(int driver, int needed);

// Throws Unavailable where the driver cannot tell NUMA nodes of the host apart, as managed memory
// needs it.
void require_driver_of_host_nodes(int driver);

}  // namespace tierscope
