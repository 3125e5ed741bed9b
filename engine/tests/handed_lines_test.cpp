#include "access/handed_lines.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace tierscope {
namespace {

constexpr std::size_t kSlots = 64;

class HandedLinesTest : public testing::Test {
 protected:
  // As many lines as that; the vector's elements keep the lines aligned.
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory_{kSlots * kHandedSlot / sizeof(Line)};
  HandedLines lines_{std::span(memory_.front().bytes, kSlots* kHandedSlot)};

  Followed follow() const { return follow_lines(lines_.start(), lines_.count()); }
};

TEST_F(HandedLinesTest, OneCycleGoesThroughALineOfEachSlot) {
  lines_.store();
  std::set<std::size_t> slots;
  std::set<std::size_t> offsets;
  const HandedLine* at = lines_.start();
  for (std::size_t i = 0; i < kSlots; ++i, at = at->next) {
    const auto place =
        static_cast<std::size_t>(reinterpret_cast<const std::byte*>(at) - memory_.front().bytes);
    slots.insert(place / kHandedSlot);
    offsets.insert(place % kHandedSlot);
  }
  EXPECT_EQ(at, lines_.start());
  EXPECT_EQ(slots.size(), kSlots);
  EXPECT_EQ(offsets, (std::set<std::size_t>{0, 64, 128, 192}));  // All sets of a cache.
}

TEST_F(HandedLinesTest, EachRoundHasAnOrderAndAStampOfItsOwn) {
  std::set<std::uint64_t> stamps;
  std::set<const HandedLine*> second;
  for (int round = 0; round < 20; ++round) {
    stamps.insert(lines_.store());
    second.insert(lines_.start()->next);
  }
  HandedLines others(std::span(memory_.front().bytes, kSlots * kHandedSlot));
  stamps.insert(others.store());
  EXPECT_EQ(stamps.size(), 21U);
  EXPECT_GT(second.size(), 10U);
}

TEST_F(HandedLinesTest, ALineOfAnEarlierRoundIsCaught) {
  lines_.store();
  const auto before = memory_;
  const std::uint64_t stamp = lines_.store();
  EXPECT_TRUE(lines_.are_of(stamp, follow()));
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    // As a cache would show it that had missed the writer's store of the stamp.
    const std::size_t stale = (slot * kHandedSlot + slot / 16 % 4 * 64) / sizeof(Line);
    auto& found = reinterpret_cast<HandedLine&>(memory_[stale]);
    const HandedLine kept = found;
    found.stamp = reinterpret_cast<const HandedLine&>(before[stale]).stamp;
    EXPECT_FALSE(lines_.are_of(stamp, follow())) << slot;
    found = kept;
  }
  EXPECT_TRUE(lines_.are_of(stamp, follow()));
  EXPECT_FALSE(lines_.are_of(stamp, follow_lines(lines_.start(), lines_.count() - 1)));
}

TEST_F(HandedLinesTest, CleanLinesHoldWhatWasStored) {
  ASSERT_TRUE(HandedLines::can_clean());
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t stamp = lines_.store();
    lines_.clean();
    EXPECT_TRUE(lines_.are_of(stamp, follow()));
  }
}

TEST_F(HandedLinesTest, AReaderSeesEveryRoundOfAWriter) {
  constexpr std::uint64_t kRounds = 2000;
  Turn written;
  Turn read;
  std::uint64_t stamp = 0;
  std::uint64_t wrong = 0;
  std::thread reader([&] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      written.wait_for(round);
      wrong += lines_.are_of(stamp, follow()) ? 0 : 1;
      read.reach(round);
    }
  });
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    stamp = lines_.store();
    if (round % 2 == 0) lines_.clean();
    written.reach(round);
    read.wait_for(round);
  }
  reader.join();
  EXPECT_EQ(wrong, 0U);
}

TEST(ExchangeWord, BothUpdateInTurnAndNoneIsLost) {
  constexpr std::uint64_t kTrips = 2000;
  alignas(64) std::uint64_t word = 0;
  std::thread second([&word] { exchange_word(word, kTrips, false); });
  exchange_word(word, kTrips, true);
  second.join();
  EXPECT_EQ(word, 2 * kTrips);
}

}  // namespace
}  // namespace tierscope
