#include "access/column_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "access/kernel.h"

namespace tierscope {
namespace {

// Row numbers that a plain loop finds.
template <typename Key>
std::vector<Key> plain_scan(std::span<const Key> keys, std::uint64_t first_row, std::uint64_t low,
                            std::uint64_t high) {
  std::vector<Key> found;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] >= low && keys[i] < high) found.push_back(static_cast<Key>(first_row + i));
  }
  return found;
}

template <typename Key>
struct Column {
  explicit Column(std::uint64_t blocks) : keys(blocks * kScanBlock / sizeof(Key)) {
    std::mt19937_64 random(blocks);
    for (Key& key : keys) key = static_cast<Key>(random());
    keys.front() = 0;
    keys.back() = std::numeric_limits<Key>::max() - 1;
    positions.assign(keys.size() + kGuard, kUntouched);
  }

  ScanSlice slice(std::uint64_t low, std::uint64_t high) {
    return {.keys = keys.data(),
            .positions = positions.data(),
            .blocks = keys.size() * sizeof(Key) / kScanBlock,
            .first_row = 1000,
            .low = low,
            .high = high};
  }

  static constexpr std::size_t kGuard = 64;
  static constexpr Key kUntouched = 77;
  std::vector<Key> keys;
  std::vector<Key> positions;
};

// Ranges from none to all, at the ends of the keys' range and in its middle, across the sign bit.
template <typename Key>
std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges() {
  constexpr std::uint64_t kMax = std::numeric_limits<Key>::max();
  return {{0, 0},
          {5, 5},
          {0, 1},
          {0, kMax},
          {kMax - 1, kMax},
          {kMax / 2, kMax / 2 + kMax / 100},
          {kMax / 2 - kMax / 4, kMax / 2 + kMax / 4},
          {0, kMax / 3},
          {kMax / 3, kMax}};
}

template <typename Key>
void expect_agreement(std::string_view isa) {
  Column<Key> column(5);
  for (const auto& range : ranges<Key>()) {
    const ScanSlice slice = column.slice(range.first, range.second);
    const std::vector<Key> expected =
        plain_scan<Key>(column.keys, slice.first_row, slice.low, slice.high);
    for (const bool kept : {false, true}) {
      std::ranges::fill(column.positions, Column<Key>::kUntouched);
      const ScanKernel scan = find_scan_kernel(isa, sizeof(Key), kept);
      ScanPosition at;
      for (const std::uint64_t blocks : {1U, 2U, 2U}) scan(slice, at, blocks);
      EXPECT_EQ(at.block, slice.blocks);
      ASSERT_EQ(at.found, expected.size()) << isa << " " << slice.low << ".." << slice.high;
      if (!kept) continue;
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), column.positions.begin()))
          << isa << " " << slice.low << ".." << slice.high;
      EXPECT_EQ(std::count(column.positions.begin() + column.keys.size(), column.positions.end(),
                           Column<Key>::kUntouched),
                Column<Key>::kGuard);
    }
  }
}

class EveryScan : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryScan, FindsWhatAPlainLoopFindsAndWritesNothingBehindItsPositions) {
  expect_agreement<std::uint32_t>(GetParam());
  expect_agreement<std::uint64_t>(GetParam());
}

// A call may end anywhere in a pass: what was found so far is there, and the next pass begins anew.
TEST_P(EveryScan, BeginsAnewAfterTheLastBlock) {
  Column<std::uint32_t> column(3);
  const ScanSlice slice = column.slice(0, 1U << 31);
  const ScanKernel scan = find_scan_kernel(GetParam(), sizeof(std::uint32_t), true);
  ScanPosition at;
  scan(slice, at, 5);
  const std::size_t scanned = 2 * kScanBlock / sizeof(std::uint32_t);
  const auto expected = plain_scan<std::uint32_t>(std::span(column.keys).first(scanned),
                                                  slice.first_row, 0, 1U << 31);
  EXPECT_EQ(at.block, 2);
  ASSERT_EQ(at.found, expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), column.positions.begin()));
}

// At 100% every position is written, and those of the slice behind stay.
TEST_P(EveryScan, OfAllRowsLeavesTheNextSliceAlone) {
  std::vector<std::uint64_t> keys(2 * kScanBlock / sizeof(std::uint64_t), 1);
  std::vector<std::uint64_t> positions(keys.size(), 99);
  const ScanSlice slice{
      .keys = keys.data(), .positions = positions.data(), .blocks = 1, .low = 0, .high = 2};
  ScanPosition at;
  find_scan_kernel(GetParam(), sizeof(std::uint64_t), true)(slice, at, 1);
  const std::size_t rows = kScanBlock / sizeof(std::uint64_t);
  EXPECT_EQ(at.found, rows);
  for (std::size_t i = 0; i < positions.size(); ++i) ASSERT_EQ(positions[i], i < rows ? i : 99);
}

INSTANTIATE_TEST_SUITE_P(All, EveryScan, testing::ValuesIn(supported_isas()),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tierscope
