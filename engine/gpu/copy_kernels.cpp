#include "gpu/copy_kernels.h"

#include <algorithm>

#include "gpu/kernel.h"

namespace tierscope {
namespace {

using copy_kernels::kExchangeThreads;
using copy_kernels::kThreads;

constexpr unsigned kBulkThreads = 32;
constexpr std::size_t kBulkShared = std::size_t{copy_kernels::kStages} * copy_kernels::kStageBytes;

Kernel<std::byte*, const std::byte*, std::size_t, int> copy("copy");
Kernel<CopyEnds, CopyEnds, std::size_t, int> exchange("exchange");
Kernel<std::byte*, const std::byte*, std::size_t, int> bulk_copy("bulk_copy");

}  // namespace

int most_copy_blocks() { return copy.most_blocks(kThreads); }

int single_pass_copy_blocks(std::size_t bytes) {
  constexpr std::size_t kVector = 16;
  constexpr std::size_t kEach = std::size_t{kThreads} * copy_kernels::kUnroll * kVector;
  return static_cast<int>(std::clamp<std::size_t>((bytes + kEach - 1) / kEach, 1, 1U << 30));
}

void launch_copy(std::byte* destination, const std::byte* source, std::size_t bytes, int passes,
                 int blocks, CUstream stream) {
  copy.launch({static_cast<unsigned>(blocks), kThreads}, stream, "launching the copy kernel",
              destination, source, bytes, passes);
}

int most_exchange_blocks() { return exchange.most_blocks(kExchangeThreads); }

void launch_exchange(const CopyEnds& there, const CopyEnds& back, std::size_t bytes, int passes,
                     int blocks, CUstream stream) {
  exchange.launch({static_cast<unsigned>(blocks), kExchangeThreads}, stream,
                  "launching the kernel that copies both ways", there, back, bytes, passes);
}

bool has_bulk_copy(int compute_capability_major) { return compute_capability_major >= 9; }

int most_bulk_blocks() {
  bulk_copy.allow_shared(kBulkShared);
  return bulk_copy.most_blocks(kBulkThreads, kBulkShared);
}

void launch_bulk_copy(std::byte* destination, const std::byte* source, std::size_t bytes,
                      int passes, int blocks, CUstream stream) {
  bulk_copy.allow_shared(kBulkShared);
  bulk_copy.launch({static_cast<unsigned>(blocks), kBulkThreads, kBulkShared}, stream,
                   "launching the bulk copy kernel", destination, source, bytes, passes);
}

}  // namespace tierscope
