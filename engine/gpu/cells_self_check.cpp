// The check of cells in a GPU's memory against what was stamped and then changed.
#include <fmt/format.h>

#include <vector>

#include "errors.h"
#include "gpu/cells.h"
#include "gpu/check.h"
#include "gpu/device.h"
#include "gpu/self_check.h"
#include "storage/contents.h"

namespace tierscope {
namespace {

bool are_cells(int gpu, const std::vector<std::byte>& block, const ExpectedCells& expected) {
  const GpuBytes memory = make_gpu_bytes(gpu, block.size());
  const GpuBytes wrong = make_gpu_bytes(gpu, sizeof(std::uint32_t));
  std::uint32_t found = 0;
  check_cuda(cuda().cuMemcpy(address_of(memory.get()), address_of(block.data()), block.size()),
             "uploading");
  check_cuda(cuda().cuMemcpy(address_of(wrong.get()), address_of(&found), sizeof found),
             "clearing");
  check_cells(memory.get(), block.size(), expected, reinterpret_cast<std::uint32_t*>(wrong.get()),
              nullptr);
  check_cuda(cuda().cuMemcpy(address_of(&found), address_of(wrong.get()), sizeof found),
             "downloading");
  return found == 0;
}

// A block as it was stamped, and with one bit changed in each of its words in turn.
int check_block(int gpu, std::size_t bytes, const ExpectedCells& expected) {
  std::vector<std::byte> block(bytes);
  prepare(block, bytes + expected.offset, 0, expected.cell_bytes);
  stamp(block, expected.file, expected.offset, expected.min_generation);
  const std::string where =
      fmt::format("GPU {}: {} bytes in cells of {}", gpu, bytes, expected.cell_bytes);
  ExpectedCells younger = expected;
  ++younger.min_generation;
  if (!are_cells(gpu, block, expected)) throw Failure(where + " are found wrong");
  if (are_cells(gpu, block, younger)) throw Failure(where + ": stale ones are found right");
  int count = 2;
  // Odd steps, so that words of all sectors have their turn in a large block.
  for (std::size_t at = 0; at < bytes; at += bytes <= 4096 ? 8 : 8 * 37) {
    const std::byte bit{static_cast<unsigned char>(1U << (at / 8 % 8))};
    block[at + at % 7] ^= bit;
    if (are_cells(gpu, block, expected)) {
      throw Failure(fmt::format("{}: a wrong bit in byte {} is not found", where, at + at % 7));
    }
    block[at + at % 7] ^= bit;
    ++count;
  }
  return count;
}

}  // namespace

int check_cells_on(int gpu) {
  int count = 0;
  for (const std::uint32_t cell_bytes : {kSectorBytes, kCellBytes}) {
    for (const std::size_t cells : {1, 3, 33, 64}) {
      count += check_block(gpu, cells * cell_bytes,
                           {.file = 7,
                            .offset = cells << 20,
                            .min_generation = (std::uint64_t{3} << 33) + cells,
                            .cell_bytes = cell_bytes});
    }
  }
  return count;
}

}  // namespace tierscope
