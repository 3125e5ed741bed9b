// The C library's own loops over memory, as operations beside the access kernels.
#pragma once

#include <string>

#include "access/kernel.h"

namespace tierscope {

// Each byte that memset sets.
inline constexpr int kSetByte = 0x2a;

// kMemset or kMemcpy, in order sequential: each call of the function covers what is left of
// `count` accesses, or of the arrays where their end comes first. walk.scalar is not used.
Kernel find_library_kernel(Operation operation);

// The library that the functions come from, as in "glibc 2.36".
std::string library_name();

}  // namespace tierscope
