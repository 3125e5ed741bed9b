#include "benches/between_runs.h"

#include <gtest/gtest.h>

namespace tierscope {
namespace {

TEST(DifferenceBetweenRuns, WidensEveryIntervalAndMovesNoEstimate) {
  Outcome outcome{.metric = "bandwidth",
                  .unit = "B/s",
                  .sampled = {.samples = {1000, 1000}, .estimate = {1000, 999, 1002, 2}},
                  .figures = {{"bandwidth a", "B/s", 500, 500, 500}},
                  .evidence = {}};
  outcome = with_difference_between_runs(std::move(outcome));
  EXPECT_DOUBLE_EQ(outcome.sampled.estimate.median, 1000);
  EXPECT_DOUBLE_EQ(outcome.sampled.estimate.low, 998);
  EXPECT_DOUBLE_EQ(outcome.sampled.estimate.high, 1003);
  EXPECT_DOUBLE_EQ(outcome.figures.front().estimate, 500);
  EXPECT_DOUBLE_EQ(outcome.figures.front().low, 499.5);
  EXPECT_DOUBLE_EQ(outcome.figures.front().high, 500.5);
}

}  // namespace
}  // namespace tierscope
