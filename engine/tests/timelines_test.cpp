// What of several transfers at once counts.
#include "sampling/timelines.h"

#include <gtest/gtest.h>

namespace tierscope {
namespace {

const Timeline kSlow{.times = {0, 8, 12}, .bytes = {80, 40}, .end = 8};
const Timeline kQuick{.times = {1, 7, 10}, .bytes = {120, 60}, .end = 7};
const Timeline kWaiting{.times = {0, 20, 24}, .bytes = {80, 40}, .end = 20};

TEST(InTurn, OneHasNotBegunWhenAnotherStops) {
  EXPECT_TRUE(in_turn({kQuick, kWaiting}));
  EXPECT_FALSE(in_turn({kSlow, kQuick}));
}

TEST(InTurn, IsNotWhatOneAloneDoes) { EXPECT_FALSE(in_turn({{{0, 1}, {1}}})); }

TEST(InTurn, IsNotAnUnfairShare) {
  const Timeline slow{.times = {0, 167, 334, 501}, .bytes = {10, 10, 10}, .end = 334};
  EXPECT_FALSE(in_turn({kQuick, slow}));
}

TEST(Contested, GoesFromTheLastStartToEachOnesOwnEnd) {
  const std::vector<Window> windows = contested({kSlow, kQuick});
  EXPECT_EQ(windows[0].start, 1);
  EXPECT_EQ(windows[0].end, 8);
  EXPECT_EQ(windows[1].start, 1);
  EXPECT_EQ(windows[1].end, 7);
}

TEST(Contested, EndsWhereAnyStops) { EXPECT_EQ(contested({kQuick, kWaiting})[1].end, 10); }

TEST(Contested, IsEmptyWhereTheyNeverMet) {
  const Timeline late{.times = {11, 12}, .bytes = {1}};
  for (const Window& window : contested({kQuick, late})) EXPECT_LE(window.end, window.start);
}

TEST(Whole, GoesFromTheFirstStartToTheLastStop) {
  const Window window = whole({kSlow, kQuick});
  EXPECT_EQ(window.start, 0);
  EXPECT_EQ(window.end, 12);
}

TEST(BytesIn, CountsAnEvenPaceFromMarkToMark) {
  const Timeline timeline{.times = {0, 1, 3}, .bytes = {100, 400}};
  EXPECT_DOUBLE_EQ(bytes_in(timeline, {.start = 0, .end = 3}), 500);
  EXPECT_DOUBLE_EQ(bytes_in(timeline, {.start = 0.5, .end = 2}), 50 + 200);
}

// What comes after an end is there for the others' sake.
TEST(BytesIn, TailOutsideTheWindowDoesNotCount) {
  EXPECT_DOUBLE_EQ(bytes_in(kSlow, {.start = 0, .end = 8}), 80);
}

// An engine that serves two streams in turn, a second each: together they move 100 bytes/s.
TEST(Merge, StreamsServedInTurnAddUpToTheEnginesPace) {
  const Timeline one{.times = {0, 1, 3}, .bytes = {100, 100}};
  const Timeline other{.times = {0, 2, 4}, .bytes = {100, 100}};
  const Timeline merged = merge({one, other});
  for (const double end : {1.0, 2.5, 3.0, 4.0}) {
    EXPECT_DOUBLE_EQ(bytes_in(merged, {.start = 0, .end = end}), 100 * end);
  }
}

TEST(Merge, CountsUntilItsLastStreamDoes) { EXPECT_EQ(merge({kSlow, kWaiting}).end, 20); }

TEST(Merge, MarksOfTheSameTickLoseNothing) {
  const Timeline one{.times = {0, 1, 2}, .bytes = {10, 10}};
  const Timeline merged = merge({one, one});
  EXPECT_DOUBLE_EQ(bytes_in(merged, {.start = 0, .end = 2}), 40);
}

}  // namespace
}  // namespace tierscope
