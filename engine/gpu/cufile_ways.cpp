#include "gpu/cufile_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "gpu/cufile_errors.h"

namespace tierscope {
namespace {

using cufile_abi::Level1;
using cufile_abi::PerGpu;

using Bytes = std::array<std::byte, cufile_abi::kStatisticsBytes>;

CufileWays ways_of_batches(const Cufile& library) {
  const auto bytes = std::make_unique<Bytes>();
  const cufile_abi::Error error = library.get_statistics1(bytes->data());
  if (error.code != 0) fail_cufile(error, "cuFile's statistics cannot be read");
  Level1 level1;
  std::memcpy(&level1, bytes->data(), sizeof level1);
  return {.operations = {{"p2p", level1.batch_p2p.ok},
                         {"nvfs", level1.batch_nvfs.ok},
                         {"aio", level1.batch_aio.ok},
                         {"io_uring", level1.batch_io_uring.ok},
                         {"mixed", level1.batch_mixed.ok}}};
}

CufileWays ways_of_operations(const Cufile& library) {
  const auto bytes = std::make_unique<Bytes>();
  const cufile_abi::Error error = library.get_statistics3(bytes->data());
  if (error.code != 0) fail_cufile(error, "cuFile's statistics cannot be read");
  CufileWays ways;
  const std::byte* at = bytes->data() + cufile_abi::offset_of_gpus(library.version);
  for (std::size_t gpu = 0; gpu < cufile_abi::kMaxGpus; ++gpu, at += sizeof(PerGpu)) {
    PerGpu counts;
    std::memcpy(&counts, at, sizeof counts);
    ways.operations["p2p"] += counts.p2p_reads + counts.p2p_writes;
    ways.operations["nvfs"] += counts.nvfs_reads + counts.nvfs_writes;
    ways.operations["posix"] += counts.posix_reads + counts.posix_writes;
    ways.unaligned += counts.unaligned_reads + counts.unaligned_writes;
  }
  return ways;
}

std::uint64_t of(const CufileWays& ways, const char* name) {
  const auto found = ways.operations.find(name);
  return found == ways.operations.end() ? 0 : found->second;
}

}  // namespace

std::uint64_t CufileWays::total() const {
  std::uint64_t sum = 0;
  for (const auto& [way, count] : operations) sum += count;
  return sum;
}

CufileWays CufileWays::since(const CufileWays& before) const {
  CufileWays difference = *this;
  for (auto& [way, count] : difference.operations) count -= of(before, way.c_str());
  difference.unaligned -= before.unaligned;
  return difference;
}

CufileWays cufile_ways(const Cufile& library, bool batches) {
  if (!library.counts) return {};
  return batches ? ways_of_batches(library) : ways_of_operations(library);
}

std::string wrong_way(const CufileWays& ways, std::string_view required, bool direct,
                      const std::string& unproven) {
  // That a file is open with O_DIRECT needs no counter.
  if (required.empty() || (required == "odirect" && direct)) return "";
  if (!unproven.empty()) return fmt::format("--require {}: not proven: {}", required, unproven);
  const std::uint64_t total = ways.total();
  const std::uint64_t p2p = of(ways, "p2p");
  const std::uint64_t nvfs = of(ways, "nvfs");
  const std::uint64_t right = required == "p2p" ? p2p : required == "nvfs" ? nvfs : p2p + nvfs;
  if (right == total) return "";
  std::string taken;
  for (const auto& [way, count] : ways.operations) {
    if (count > 0) taken += fmt::format("{}{} by {}", taken.empty() ? "" : ", ", count, way);
  }
  return fmt::format("--require {}: {} of {} operations went that way ({})", required, right, total,
                     taken);
}

}  // namespace tierscope
