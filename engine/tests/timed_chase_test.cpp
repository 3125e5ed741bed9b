#include "access/timed_chase.h"

#include <gtest/gtest.h>

#include <array>

namespace tierscope {
namespace {

TEST(FollowChaseTimed, FollowsAndCountsEachLink) {
  std::array<void*, 3> links{};
  links[0] = static_cast<void*>(&links[2]);
  links[2] = static_cast<void*>(&links[1]);
  links[1] = static_cast<void*>(&links[0]);
  Histogram histogram;
  EXPECT_EQ(follow_chase_timed(links.data(), 4, histogram), &links[2]);
  EXPECT_EQ(histogram.count(), 4U);
}

TEST(Timer, TicksAtAKnownRateAndCostsSomething) {
  EXPECT_GT(timer_tick_ns(), 0.1);   // 10 GHz
  EXPECT_LT(timer_tick_ns(), 1000);  // 1 MHz
  EXPECT_GE(timer_cost_ticks(), 0);
}

}  // namespace
}  // namespace tierscope
