#include "gpu/cells.h"
#include "gpu/xxh3.h"

namespace tierscope::cell_kernels {

constexpr unsigned kAllLanes = 0xffffffff;

__device__ const std::uint64_t* words_at(const std::byte* data) {
  return reinterpret_cast<const std::uint64_t*>(data);
}

// A thread for each sector; those of one cell are neighbours in a warp.
extern "C" __global__ void cells_check(const std::byte* data, std::size_t sectors,
                                       ExpectedCells expected, Xxh3 xxh3, std::uint32_t* wrong) {
  const std::size_t index = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int in_cell = static_cast<int>(expected.cell_bytes / kSectorBytes);
  const bool mine = index < sectors;
  const std::size_t sector = mine ? index : 0;  // All lanes take part in the shuffles.
  const std::byte* const here = data + sector * kSectorBytes;
  const std::byte* const cell = data + sector / in_cell * expected.cell_bytes;
  const auto& header = *reinterpret_cast<const CellHeader*>(cell);
  const auto offset = expected.offset + static_cast<std::uint64_t>(cell - data);

  const bool is_first = here == cell;
  const int skipped = is_first ? sizeof(CellHeader) : 0;
  const std::uint64_t hash =
      xxh3.of_words(words_at(here + skipped), (static_cast<int>(kSealAt) - skipped) / 8);
  std::uint64_t payload = 0;
  for (int i = 0; i < in_cell; ++i) {
    payload = add_to_payload_hash(payload, __shfl_sync(kAllLanes, hash, i, in_cell));
  }
  const bool right = header.magic == kCellMagic && header.bytes == expected.cell_bytes &&
                     header.file == expected.file && header.offset == offset &&
                     header.generation >= expected.min_generation &&
                     header.place == xxh3.of_32_bytes(words_at(cell)) &&
                     *words_at(here + kSealAt) == seal_of(header) && header.payload == payload;
  if (mine && !right) *wrong = 1;
}

}  // namespace tierscope::cell_kernels
