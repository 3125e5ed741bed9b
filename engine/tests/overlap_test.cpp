#include "sampling/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tierscope {
namespace {

TEST(Overlap, OfNothingIsNothing) {
  const Overlap found = overlap_of({});
  EXPECT_EQ(found.operations, 0U);
  EXPECT_EQ(found.busy_ns, 0);
  EXPECT_EQ(found.most, 0);
}

TEST(Overlap, WhatFollowsAtOnceDoesNotOverlap) {
  const Overlap found = overlap_of({{10, 20}, {20, 30}, {40, 50}});
  EXPECT_EQ(found.operations, 3U);
  EXPECT_EQ(found.busy_ns, 30);
  EXPECT_EQ(found.overlapped_ns, 0);
  EXPECT_EQ(found.most, 1);
}

TEST(Overlap, OfThreeThatBeginOneAfterTheOther) {
  const Overlap found = overlap_of({{20, 60}, {0, 40}, {30, 35}});
  EXPECT_EQ(found.busy_ns, 60);
  EXPECT_EQ(found.overlapped_ns, 20);
  EXPECT_EQ(found.most, 3);
}

// Each nanosecond is looked at by itself.
TEST(Overlap, AgreesWithACountOfEveryMoment) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals;
    for (std::uint64_t i = random() % 12; i > 0; --i) {
      const std::uint64_t start = random() % 60;
      intervals.push_back({start, start + random() % 20});
    }
    double busy = 0;
    double overlapped = 0;
    std::ptrdiff_t most = 0;
    for (std::uint64_t moment = 0; moment < 80; ++moment) {
      const auto under_way = std::count_if(
          intervals.begin(), intervals.end(),
          [moment](const Interval& one) { return one.start_ns <= moment && moment < one.end_ns; });
      busy += under_way > 0 ? 1 : 0;
      overlapped += under_way > 1 ? 1 : 0;
      most = std::max(most, under_way);
    }
    const Overlap found = overlap_of(intervals);
    EXPECT_EQ(found.busy_ns, busy);
    EXPECT_EQ(found.overlapped_ns, overlapped);
    EXPECT_EQ(found.most, most);
  }
}

}  // namespace
}  // namespace tierscope
