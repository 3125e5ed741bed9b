// The time in which several transfers are all under way, and what each moves in it.
#include <gtest/gtest.h>

#include "sampling/common_window.h"

namespace tierscope {
namespace {

TEST(CommonWindow, GoesFromTheLastStartToTheFirstEnd) {
  const Window window = common_window({{{0.0, 4.0}, {100}}, {{1.0, 3.0}, {100}}});
  EXPECT_EQ(window.start, 1.0);
  EXPECT_EQ(window.end, 3.0);
}

// What comes after an end is there for the others' sake.
TEST(CommonWindow, EndsWhereTheFirstOneStopsCounting) {
  const Course one{.times = {0, 4, 5}, .bytes = {100, 25}, .end = 4};
  const Course other{.times = {0, 4.5, 6}, .bytes = {90, 30}, .end = 4.5};
  const Window window = common_window({one, other});
  EXPECT_EQ(window.end, 4);
  EXPECT_DOUBLE_EQ(bytes_in(one, window), 100);
  EXPECT_DOUBLE_EQ(bytes_in(other, window), 80);
}

TEST(CommonWindow, IsEmptyWhereTheyNeverMet) {
  const Window window = common_window({{{0.0, 1.0}, {100}}, {{2.0, 3.0}, {100}}});
  EXPECT_LE(window.end, window.start);
}

TEST(BytesIn, CountsAnEvenPaceFromMarkToMark) {
  const Course course{.times = {0, 1, 3}, .bytes = {100, 400}};
  EXPECT_DOUBLE_EQ(bytes_in(course, {.start = 0, .end = 3}), 500);
  EXPECT_DOUBLE_EQ(bytes_in(course, {.start = 0.5, .end = 2}), 50 + 200);
}

TEST(BytesIn, TailOfTheSlowerOneDoesNotCount) {
  const Course slow{.times = {0, 10}, .bytes = {1000}};
  const Course quick{.times = {0, 5}, .bytes = {1000}};
  const Window window = common_window({slow, quick});
  EXPECT_DOUBLE_EQ(bytes_in(slow, window), 500);
  EXPECT_DOUBLE_EQ(bytes_in(quick, window), 1000);
}

// An engine that serves two streams in turn, a second each: together they move 100 bytes/s.
TEST(Merge, StreamsServedInTurnAddUpToTheEnginesPace) {
  const Course one{.times = {0, 1, 3}, .bytes = {100, 100}};
  const Course other{.times = {0, 2, 4}, .bytes = {100, 100}};
  const Course merged = merge({one, other});
  for (const double end : {1.0, 2.5, 3.0, 4.0}) {
    EXPECT_DOUBLE_EQ(bytes_in(merged, {.start = 0, .end = end}), 100 * end);
  }
}

TEST(Merge, CountsUntilItsLastStreamDoes) {
  const Course one{.times = {0, 1, 2}, .bytes = {10, 10}, .end = 1};
  const Course other{.times = {0, 3, 4}, .bytes = {10, 10}, .end = 3};
  EXPECT_EQ(merge({one, other}).end, 3);
}

TEST(Merge, MarksOfTheSameTickLoseNothing) {
  const Course one{.times = {0, 1, 2}, .bytes = {10, 10}};
  const Course merged = merge({one, one});
  EXPECT_DOUBLE_EQ(bytes_in(merged, {.start = 0, .end = 2}), 40);
}

}  // namespace
}  // namespace tierscope
