// What is written to storage can be told from what was written elsewhere, earlier, in part or by
// others.
#include "storage/contents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <stdexcept>
#include <vector>

namespace tierscope {
namespace {

constexpr std::uint32_t kOwner = 0xfeed;
constexpr std::uint64_t kOffset = 1 << 20;
constexpr std::uint64_t kGeneration = (std::uint64_t{5} << 32) + 7;

class Contents : public testing::TestWithParam<std::uint32_t> {
 protected:
  std::vector<std::byte> written(std::uint64_t generation = kGeneration, std::uint64_t seed = 1,
                                 std::uint32_t file = kOwner,
                                 std::uint64_t offset = kOffset) const {
    std::vector<std::byte> buffer(kBytes);
    prepare(buffer, seed, 0, cell());
    stamp(buffer, file, offset, generation);
    return buffer;
  }

  std::optional<Mismatch> check(std::span<const std::byte> data) const {
    return verify(data, kOwner, kOffset, kGeneration, cell());
  }

  Damage damage(std::span<const std::byte> data) const {
    const auto mismatch = check(data);
    if (!mismatch) throw std::runtime_error("no mismatch");
    return mismatch->damage;
  }

  std::uint32_t cell() const { return GetParam(); }

  static constexpr std::size_t kBytes = 16384;
};

INSTANTIATE_TEST_SUITE_P(Cells, Contents, testing::Values(kSectorBytes, kCellBytes));

TEST_P(Contents, WhatWasStampedIsRightFromItsGenerationOn) {
  EXPECT_FALSE(check(written()));
  EXPECT_FALSE(check(written(kGeneration + 1)));
}

TEST_P(Contents, ABufferIsStampedAgainWithoutPreparingIt) {
  std::vector<std::byte> buffer = written(1, 1, 7, 0);
  stamp(buffer, kOwner, kOffset, kGeneration);
  EXPECT_FALSE(check(buffer));
}

TEST_P(Contents, WhatWasReadCanBeStampedAndWrittenElsewhere) {
  std::vector<std::byte> buffer = written();
  ASSERT_FALSE(check(buffer));
  const std::span<std::byte> last_cell = std::span(buffer).last(cell());
  stamp(last_cell, 9, 512, 3);
  EXPECT_FALSE(verify(last_cell, 9, 512, 3, cell()));
}

TEST_P(Contents, AnOlderGenerationIsStale) {
  std::vector<std::byte> buffer = written();
  const std::vector<std::byte> old = written(kGeneration - 1, 2);
  std::memcpy(buffer.data() + 2 * cell(), old.data() + 2 * cell(), cell());
  const auto mismatch = check(buffer);
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->damage, Damage::kStale);
  EXPECT_EQ(mismatch->expected.offset, kOffset + 2 * cell());
  EXPECT_EQ(mismatch->found->generation, kGeneration - 1);
}

TEST_P(Contents, AnotherPlaceIsMisdirected) {
  EXPECT_EQ(damage(written(kGeneration, 1, kOwner + 1)), Damage::kMisdirected);
  const std::vector<std::byte> elsewhere = written(kGeneration, 1, kOwner, kOffset + kBytes);
  EXPECT_EQ(check(elsewhere)->found->offset, kOffset + kBytes);
  EXPECT_EQ(damage(elsewhere), Damage::kMisdirected);
}

TEST_P(Contents, EveryChangedBitShows) {
  const std::vector<std::byte> right = written();
  for (std::size_t at = 0; at < cell(); ++at) {
    std::vector<std::byte> wrong = right;
    wrong[at] ^= std::byte{0x10};
    const auto mismatch = check(wrong);
    ASSERT_TRUE(mismatch) << at;
    EXPECT_NE(mismatch->damage, Damage::kStale) << at;
    EXPECT_NE(mismatch->damage, Damage::kMisdirected) << at;
    EXPECT_EQ(mismatch->expected.offset, kOffset) << at;
  }
}

TEST_P(Contents, AChangedPayloadIsCorrupt) {
  std::vector<std::byte> buffer = written();
  buffer[cell() + 100] ^= std::byte{1};
  EXPECT_EQ(damage(buffer), Damage::kCorrupt);
  EXPECT_EQ(check(buffer)->expected.offset, kOffset + cell());
}

TEST_P(Contents, OtherDataAndZerosAreForeign) {
  EXPECT_EQ(damage(std::vector<std::byte>(kBytes, std::byte{'x'})), Damage::kForeign);
  const auto zeros = check(std::vector<std::byte>(kBytes));
  EXPECT_EQ(zeros->damage, Damage::kForeign);
  EXPECT_TRUE(zeros->zeros);
  EXPECT_NE(zeros->text("/data/x").find("found zeros"), std::string::npos);
}

TEST_P(Contents, CellsOfAnotherSizeAreForeign) {
  const std::uint32_t other = cell() == kCellBytes ? kSectorBytes : kCellBytes;
  const auto mismatch = verify(written(), kOwner, kOffset, kGeneration, other);
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->damage, Damage::kForeign);
}

TEST(TornCells, AWriteThatEndedAfterAnySectorIsTorn) {
  std::vector<std::byte> old(kCellBytes);
  prepare(old, 1, 0);
  stamp(old, kOwner, kOffset, kGeneration - 1);
  std::vector<std::byte> young(kCellBytes);
  prepare(young, 2, 0);
  stamp(young, kOwner, kOffset, kGeneration);
  for (const bool from_front : {true, false}) {
    for (int sector = 1; sector < 8; ++sector) {
      const auto at = static_cast<std::size_t>(sector) * kSectorBytes;
      std::vector<std::byte> torn = from_front ? young : old;
      const std::vector<std::byte>& rest = from_front ? old : young;
      std::memcpy(torn.data() + at, rest.data() + at, kCellBytes - at);
      const auto mismatch = verify(torn, kOwner, kOffset, kGeneration);
      ASSERT_TRUE(mismatch) << sector;
      EXPECT_EQ(mismatch->damage, Damage::kTorn) << sector;
      EXPECT_EQ(mismatch->sector, sector);
      EXPECT_EQ(mismatch->found->generation, from_front ? kGeneration : kGeneration - 1);
    }
  }
}

// The same buffer is written again and again: its payload is the same in each generation.
TEST(TornCells, ATornCellOfTheSamePayloadIsTorn) {
  std::vector<std::byte> old(kCellBytes);
  prepare(old, 1, 0);
  std::vector<std::byte> torn = old;
  stamp(old, kOwner, kOffset, kGeneration - 1);
  stamp(torn, kOwner, kOffset, kGeneration);
  std::memcpy(torn.data() + 2048, old.data() + 2048, 2048);
  EXPECT_EQ(verify(torn, kOwner, kOffset, kGeneration)->damage, Damage::kTorn);
}

TEST(TornCells, AFirstWriteThatWasCutIsTorn) {
  std::vector<std::byte> cut(kCellBytes);
  prepare(cut, 1, 0);
  stamp(cut, kOwner, kOffset, kGeneration);
  std::vector<std::byte> late = cut;
  std::memset(cut.data() + 1024, 0, 3072);
  EXPECT_EQ(verify(cut, kOwner, kOffset, kGeneration)->damage, Damage::kTorn);
  std::memset(late.data(), 0, 1024);
  EXPECT_EQ(verify(late, kOwner, kOffset, kGeneration)->damage, Damage::kTorn);
}

TEST(TornCells, ALostHeaderIsCorrupt) {
  std::vector<std::byte> cell(kCellBytes);
  prepare(cell, 1, 0);
  stamp(cell, kOwner, kOffset, kGeneration);
  std::memset(cell.data(), 0xff, sizeof(CellHeader));
  EXPECT_EQ(verify(cell, kOwner, kOffset, kGeneration)->damage, Damage::kCorrupt);
}

TEST(ContentsOfBuffers, NoTwoCellsAndNoTwoSeedsAreTheSame) {
  std::set<std::uint64_t> words;
  constexpr std::size_t kCells = 64;
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    std::vector<std::byte> buffer(kCells * kCellBytes);
    prepare(buffer, seed, 0);
    for (std::size_t i = 0; i < kCells; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, buffer.data() + i * kCellBytes + 1024, sizeof word);
      words.insert(word);
    }
  }
  EXPECT_EQ(words.size(), 3 * kCells);
}

TEST(ContentsOfBuffers, CompressiblePercentAreZeros) {
  for (const int percent : {0, 25, 50, 100}) {
    std::vector<std::byte> buffer(64 * kCellBytes);
    prepare(buffer, 1, percent);
    const auto zeros = std::count(buffer.begin(), buffer.end(), std::byte{0});
    EXPECT_NEAR(static_cast<double>(zeros) / static_cast<double>(buffer.size()), percent / 100.0,
                0.02);
    stamp(buffer, kOwner, 0, 1);
    EXPECT_FALSE(verify(buffer, kOwner, 0, 1)) << percent;
  }
}

TEST(ContentsOfBuffers, CellsFitTheStep) {
  EXPECT_EQ(cell_bytes_for(4096), 4096U);
  EXPECT_EQ(cell_bytes_for(1 << 20), 4096U);
  EXPECT_EQ(cell_bytes_for(6144), 512U);
  EXPECT_EQ(cell_bytes_for(512), 512U);
  EXPECT_EQ(cell_bytes_for(0), 0U);
  EXPECT_EQ(cell_bytes_for(4097), 0U);
}

TEST(ContentsOfBuffers, MisuseIsRefused) {
  std::vector<std::byte> buffer(kCellBytes);
  EXPECT_THROW(stamp(buffer, kOwner, 0, 1), std::logic_error);
  EXPECT_THROW(prepare(std::span(buffer).first(100), 1, 0), std::logic_error);
  EXPECT_THROW(prepare(buffer, 1, 0, 1024), std::logic_error);
  EXPECT_THROW(verify(std::span(buffer).first(512), kOwner, 0, 1), std::logic_error);
}

TEST(ContentsOfBuffers, AMismatchSaysWhatWasExpectedAndFound) {
  std::vector<std::byte> cell(kCellBytes);
  prepare(cell, 1, 0);
  stamp(cell, 2, 8192, 5);
  EXPECT_EQ(verify(cell, 2, 8192, 6)->text("/data/x"),
            "/data/x, offset 8192: stale block: expected generation 6 or later, found generation 5 "
            "of file 00000002 at offset 8192");
  EXPECT_EQ(verify(cell, 3, 0, 5)->text("/data/x"),
            "/data/x, offset 0: misdirected block: expected generation 5 of file 00000003 at "
            "offset 0, found generation 5 of file 00000002 at offset 8192");
}

TEST(ContentsTest, RepeatedBytesAreVerifiedAsRandomOnesAre) {
  std::vector<std::byte> buffer(8192);
  const std::array bytes{std::byte{0xde}, std::byte{0xad}, std::byte{0xbe}, std::byte{0xef}};
  repeat(buffer, bytes);
  stamp(buffer, 7, 4096, 3);
  EXPECT_FALSE(verify(buffer, 7, 4096, 3));
  for (std::size_t at = sizeof(CellHeader); at < kSealAt; ++at) {
    EXPECT_EQ(buffer[at], bytes[at % 4]) << at;
  }
  buffer[1000] ^= std::byte{1};
  EXPECT_TRUE(verify(buffer, 7, 4096, 3));
}

}  // namespace
}  // namespace tierscope
