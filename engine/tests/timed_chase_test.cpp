#include "access/timed_chase.h"

#include <gtest/gtest.h>

#include <array>

namespace tierscope {
namespace {

TEST(Histogram, IsExactForSmallDurations) {
  Histogram histogram;
  for (std::uint64_t ticks = 1; ticks <= 100; ++ticks) histogram.add(ticks);
  EXPECT_EQ(histogram.total(), 100U);
  EXPECT_EQ(histogram.quantile(0.5), 50);
  EXPECT_EQ(histogram.quantile(0.99), 99);
  EXPECT_EQ(histogram.quantile(0.999), 100);
}

TEST(Histogram, StaysWithinOnePart128OfAnyDuration) {
  for (std::uint64_t ticks = 1; ticks < (std::uint64_t{1} << 62); ticks += ticks / 4 + 1) {
    Histogram histogram;
    histogram.add(ticks);
    const auto exact = static_cast<double>(ticks);
    EXPECT_NEAR(histogram.quantile(0.5), exact, exact / 128) << ticks;
  }
}

TEST(Histogram, TakesTheLargestDurationThereIs) {
  Histogram histogram;
  histogram.add(~std::uint64_t{0});
  EXPECT_GT(histogram.quantile(1), 1.8e19);
}

TEST(Histogram, KeepsRareLongDurationsOutOfTheMedian) {
  Histogram histogram;
  for (int i = 0; i < 998; ++i) histogram.add(100);
  histogram.add(100000);
  histogram.add(100000);
  EXPECT_EQ(histogram.quantile(0.99), 100);
  EXPECT_NEAR(histogram.quantile(0.999), 100000, 800);
}

TEST(Histogram, IsEmptyAgainWhenCleared) {
  Histogram histogram;
  histogram.add(7);
  histogram.clear();
  EXPECT_EQ(histogram.total(), 0U);
  histogram.add(9);
  EXPECT_EQ(histogram.quantile(1), 9);
}

TEST(FollowChaseTimed, FollowsAndCountsEachLink) {
  std::array<void*, 3> links{};
  links[0] = static_cast<void*>(&links[2]);
  links[2] = static_cast<void*>(&links[1]);
  links[1] = static_cast<void*>(&links[0]);
  Histogram histogram;
  EXPECT_EQ(follow_chase_timed(links.data(), 4, histogram), &links[2]);
  EXPECT_EQ(histogram.total(), 4U);
}

TEST(Timer, TicksAtAKnownRateAndCostsSomething) {
  EXPECT_GT(timer_tick_ns(), 0.1);   // 10 GHz
  EXPECT_LT(timer_tick_ns(), 1000);  // 1 MHz
  EXPECT_GE(timer_cost_ticks(), 0);
}

}  // namespace
}  // namespace tierscope
