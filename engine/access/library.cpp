#include "access/library.h"

#include <features.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include <algorithm>
#include <cstring>

namespace tierscope {
namespace {

template <Operation kOperation>
void walk_library(const Walk& walk, Position& position, std::uint64_t count) {
  for (std::uint64_t left = count * walk.access_size; left > 0;) {
    const std::uint64_t bytes = std::min(left, walk.bytes - position.offset);
    double* const to = walk.a + position.offset / sizeof(double);
    if constexpr (kOperation == Operation::kMemset) {
      std::memset(to, kSetByte, bytes);
    } else {
      std::memcpy(to, walk.b + position.offset / sizeof(double), bytes);
    }
    position.offset = (position.offset + bytes) % walk.bytes;
    left -= bytes;
  }
}

}  // namespace

Kernel find_library_kernel(Operation operation) {
  return operation == Operation::kMemset ? walk_library<Operation::kMemset>
                                         : walk_library<Operation::kMemcpy>;
}

std::string library_name() {
#ifdef __GLIBC__
  return std::string("glibc ") + gnu_get_libc_version();
#else
  return "C library of unknown name";
#endif
}

}  // namespace tierscope
