// The two places of a piece of a cache; the same for host code and kernels.
#pragma once

#include <cstdint>

namespace tierscope {

struct PieceEnds {
  std::uint64_t pool;   // Byte of the pool where the piece begins.
  std::uint64_t store;  // Byte of the object, or of all objects, where it begins.
};

}  // namespace tierscope
