// Cells of storage (storage/contents.h) in a GPU's memory, checked where they are.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "storage/cell.h"

namespace tierscope {

// Sets *wrong, memory that the GPU reaches, to 1 where one of the cells in `bytes` bytes from
// `data` on is not as expected. `data` is aligned to 8 bytes, in memory that the stream's GPU
// reaches; `bytes` is a multiple of the cells' size.
void check_cells(const std::byte* data, std::size_t bytes, const ExpectedCells& expected,
                 std::uint32_t* wrong, CUstream stream);

}  // namespace tierscope
