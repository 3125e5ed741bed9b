#include "gpu/cells.h"

#define XXH_STATIC_LINKING_ONLY  // For the secret.
#include <xxhash.h>

#include "gpu/kernel.h"
#include "gpu/xxh3.h"

namespace tierscope {
namespace {

constexpr unsigned kThreads = 128;

Kernel<const std::byte*, std::size_t, ExpectedCells, Xxh3, std::uint32_t*> check("cells_check");

}  // namespace

void check_cells(const std::byte* data, std::size_t bytes, const ExpectedCells& expected,
                 std::uint32_t* wrong, CUstream stream) {
  Xxh3 xxh3{};
  XXH3_generateSecret_fromSeed(xxh3.secret, 0);
  const std::size_t sectors = bytes / kSectorBytes;
  const auto blocks = static_cast<unsigned>((sectors + kThreads - 1) / kThreads);
  check.launch({blocks, kThreads}, stream, "verifying a block", data, sectors, expected, xxh3,
               wrong);
}

}  // namespace tierscope
