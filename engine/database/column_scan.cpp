#include "database/column_scan.h"

#include <fmt/format.h>

#include <cmath>

#include "database/shares.h"
#include "errors.h"
#include "splitmix64.h"

namespace tierscope::database {
namespace {

// Bounds around the middle of all keys that so large a share of them lies between.
std::pair<std::uint64_t, std::uint64_t> bounds(std::size_t key_bytes, double share) {
  const std::uint64_t max = ~std::uint64_t{0} >> (64 - 8 * key_bytes);
  if (share >= 1) return {0, max};
  const auto width = static_cast<std::uint64_t>(std::ldexp(share, static_cast<int>(8 * key_bytes)));
  const std::uint64_t low = (max - width) / 2;
  return {low, low + width};
}

}  // namespace

ColumnScan::ColumnScan(ColumnScanSpec spec)
    : spec_(std::move(spec)),
      scan_(find_scan_kernel(spec_.isa, spec_.key_bytes, spec_.positions)),
      low_(bounds(spec_.key_bytes, spec_.selectivity).first),
      high_(bounds(spec_.key_bytes, spec_.selectivity).second),
      threads_(spec_.threads) {}

std::vector<Part> ColumnScan::parts() const {
  const std::size_t bytes = spec_.blocks() * kScanBlock;
  return {{kParts[0], bytes}, {kParts[1], spec_.positions ? bytes : kUnusedPart}};
}

// All but the greatest key of its width, which no range includes.
std::uint64_t ColumnScan::key_at(std::uint64_t row) const {
  const std::uint64_t max = ~std::uint64_t{0} >> (64 - 8 * spec_.key_bytes);
  return scaled(splitmix64_mixed(row + kSplitMix64Step), max);
}

void ColumnScan::build(Memory memory, const OnThreads& on_threads) {
  on_threads([&](std::size_t number) {
    const Ranks blocks = share_of(spec_.blocks(), spec_.threads, number);
    const std::size_t first = blocks.first * kScanBlock;
    Thread& thread = threads_[number];
    thread = {.slice = {.keys = memory[0].data() + first,
                        .positions = spec_.positions ? memory[1].data() + first : nullptr,
                        .blocks = blocks.count,
                        .first_row = blocks.first * spec_.block_keys(),
                        .low = low_,
                        .high = high_},
              .at = {}};
    spec_.key_bytes == 4 ? fill<std::uint32_t>(thread) : fill<std::uint64_t>(thread);
  });
}

template <typename Key>
void ColumnScan::fill(const Thread& thread) const {
  auto* const keys = static_cast<Key*>(const_cast<void*>(thread.slice.keys));
  for (std::uint64_t row = 0; row < thread.slice.blocks * spec_.block_keys(); ++row) {
    keys[row] = static_cast<Key>(key_at(thread.slice.first_row + row));
  }
}

std::string ColumnScan::verify(const OnThreads& on_threads) {
  on_threads([&](std::size_t number) {
    Thread& thread = threads_[number];
    scan_(thread.slice, thread.at, thread.slice.blocks - thread.at.block);  // Ends the pass.
    spec_.key_bytes == 4 ? compare<std::uint32_t>(thread) : compare<std::uint64_t>(thread);
  });
  std::uint64_t found = 0;
  std::uint64_t done = 0;
  for (const Thread& thread : threads_) {
    found += thread.at.found;
    done += thread.done;
  }
  return fmt::format("{} rows scanned; {} of {} found, {} as a plain loop finds them",
                     done * spec_.block_keys(), found, spec_.blocks() * spec_.block_keys(),
                     spec_.positions ? "each at its position," : "as many");
}

template <typename Key>
void ColumnScan::compare(const Thread& thread) const {
  const auto* const positions = static_cast<const Key*>(thread.slice.positions);
  const std::uint64_t first = thread.slice.first_row;
  const std::uint64_t last = first + thread.slice.blocks * spec_.block_keys();
  std::uint64_t found = 0;
  std::uint64_t wrong = 0;
  for (std::uint64_t row = first; row < last; ++row) {
    const std::uint64_t key = key_at(row);
    if (key < low_ || key >= high_) continue;
    if (positions != nullptr && found < thread.at.found && positions[found] != row) ++wrong;
    ++found;
  }
  if (wrong != 0 || found != thread.at.found) {
    throw Failure(fmt::format("rows {} to {}: {} were found where a plain loop finds {}, and {} "
                              "positions are wrong",
                              first, last - 1, thread.at.found, found, wrong),
                  Cause::kVerification);
  }
}

}  // namespace tierscope::database
