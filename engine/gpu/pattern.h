// A pattern that no two places of a buffer share, written and compared on the GPU.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace tierscope {

// What a buffer holds: from `offset` on, `seed`'s pattern in the first row_bytes of each pitch;
// `other`'s between rows and before the offset. A buffer in one piece has row_bytes == pitch.
struct Pattern {
  std::uint64_t seed;
  std::uint64_t other = 0;
  std::size_t offset = 0;
  std::size_t row_bytes = 1;
  std::size_t pitch = 1;
};

struct PatternMismatch {
  unsigned long long bytes = 0;      // How many differ.
  unsigned long long first = ~0ULL;  // Where the first of them is, from the buffer's start.
};

// data, aligned to 8 bytes, holds bytes [first, first + bytes) of the buffer; first is a multiple
// of 8. data is memory that the stream's GPU reaches.
void fill_pattern(std::byte* data, std::size_t first, std::size_t bytes, const Pattern& pattern,
                  CUstream stream);

// Adds to *found, which is memory of the GPU.
void compare_pattern(const std::byte* data, std::size_t first, std::size_t bytes,
                     const Pattern& pattern, PatternMismatch* found, CUstream stream);

}  // namespace tierscope
