// Memory for direct I/O.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace tierscope {

struct FreeAligned {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedBuffer = std::unique_ptr<std::byte, FreeAligned>;

// At a multiple of 4096, the largest logical block of drives; `bytes` is one, too. Throws
// Unavailable.
AlignedBuffer make_aligned(std::size_t bytes);

}  // namespace tierscope
