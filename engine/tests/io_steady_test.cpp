#include "kinds/io_steady.h"

#include <gtest/gtest.h>

namespace tierscope {
namespace {

using Figure = SteadyRule::Figure;

TEST(SteadyStateTest, FiguresNearTheirMeanAreSteady) {
  SteadyState steady({.figure = Figure::kIops,
                      .slope = false,
                      .limit = 10,
                      .of_the_mean = true,
                      .duration_s = 4,
                      .ramp_s = 1},
                     1);
  EXPECT_FALSE(steady.add(5000)) << "the ramp is left out";
  for (const double figure : {200, 100, 100}) EXPECT_FALSE(steady.add(figure));
  EXPECT_FALSE(steady.add(100)) << "200 is 60% above the mean of the four";
  EXPECT_DOUBLE_EQ(steady.criterion(), 60);
  EXPECT_TRUE(steady.add(105));
  EXPECT_TRUE(steady.attained());
  EXPECT_NEAR(steady.mean(), 101.25, 1e-9);
  EXPECT_NEAR(steady.deviation(), 3.75, 1e-9);
}

TEST(SteadyStateTest, ALineThatRisesIsNotSteady) {
  SteadyState steady({.figure = Figure::kBandwidth,
                      .slope = true,
                      .limit = 2,
                      .of_the_mean = false,
                      .duration_s = 2,
                      .ramp_s = 0},
                     0.5);
  for (const double figure : {10, 20, 30}) EXPECT_FALSE(steady.add(figure));
  EXPECT_FALSE(steady.add(40));
  EXPECT_DOUBLE_EQ(steady.slope(), 10);
  for (const double figure : {40, 40}) EXPECT_FALSE(steady.add(figure));
  EXPECT_TRUE(steady.add(40)) << steady.criterion();
}

}  // namespace
}  // namespace tierscope
