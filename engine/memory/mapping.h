// Address space reserved for a region; no memory yet.
#pragma once

#include <cstddef>
#include <memory>

#include "memory/placement.h"

namespace tierscope {

// Frees what was mapped, guard pages included.
struct Unmap {
  std::byte* start = nullptr;
  std::size_t bytes = 0;
  void operator()(std::byte* data) const;
};
using Mapping = std::unique_ptr<std::byte, Unmap>;

// Reserves bytes, a multiple of page_bytes (the size of such a page), aligned to page_bytes, and
// tells the kernel by which pages to back them. Throws Unavailable where the address space or the
// hugetlb reservation is not available, Failure otherwise.
Mapping map_pages(std::size_t bytes, Pages pages, std::size_t page_bytes);

}  // namespace tierscope
