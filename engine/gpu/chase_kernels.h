// A chain of dependent loads by one thread of a GPU.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace tierscope {

// Writes at each slot, `stride` bytes apart from `start`, the address of the slot that follows it.
// `next` is memory of the GPU.
void lay_chain(std::byte* start, std::size_t stride, const std::uint32_t* next, std::uint32_t slots,
               CUstream stream);

// A chase of `loads` steps from slot `first`; the slot where it ends goes to *last.
struct Chase {
  const std::byte* start;
  std::size_t stride;
  std::uint32_t first;
  std::uint32_t loads;
  std::uint32_t* last;
};
void launch_chase(const Chase& chase, CUstream stream);
// The same with a bulk copy (TMA) of 16 bytes for each link; start and stride are multiples of 16.
void launch_bulk_chase(const Chase& chase, CUstream stream);
// The same on one of the multiprocessors; *ran, 0 before, becomes 1 if a block got there.
void launch_chase_on(const Chase& chase, int multiprocessor, int multiprocessors, unsigned* ran,
                     CUstream stream);

}  // namespace tierscope
