// Which driver a CUDA runtime needs. Plain values; nothing here asks the machine.
#pragma once

#include <string>

namespace tierscope {

// "13.0" of 13000, as CUDA numbers its versions.
std::string cuda_version(int number);

// Whether there is a driver, for CUDA `driver`, and it is too old for the runtime: one of the same
// major version serves every minor one (CUDA C++ Best Practices Guide, "Minor Version
// Compatibility").
bool driver_is_too_old(int driver, int runtime);

// Says so, with both versions.
std::string too_old_reason(int driver, int runtime);

// The driver that a runtime needs at least, as in "NVIDIA driver 580".
std::string needed_driver(int runtime);

}  // namespace tierscope
