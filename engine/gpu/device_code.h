// What the kernels were compiled to (tools/compile_kernels.py), and which of it a GPU runs.
#pragma once

#include <span>

namespace tierscope {

struct DeviceCode {
  int capability;     // Compute capability that it is for, 90 for 9.0.
  bool machine_code;  // Runs on it and on later ones of its major version; else PTX, which the
                      // driver compiles for it and for all later ones.
  const void* data;
};

// All that this build has.
std::span<const DeviceCode> embedded_code();

// Of `all`, what a GPU of this compute capability runs: the newest machine code, else the newest
// PTX. Null where there is neither.
const DeviceCode* code_for(int capability, std::span<const DeviceCode> all);

}  // namespace tierscope
