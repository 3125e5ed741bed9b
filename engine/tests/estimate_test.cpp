#include "sampling/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace tierscope {
namespace {

using Draw = std::function<double(std::mt19937&)>;

// Share of intervals, out of many series of n draws, that hold the distribution's median.
double coverage(int n, double true_median, const Draw& draw) {
  constexpr int kSeries = 2000;
  std::mt19937 random(20261121);
  int holds = 0;
  for (int series = 0; series < kSeries; ++series) {
    std::vector<double> samples(static_cast<std::size_t>(n));
    std::generate(samples.begin(), samples.end(), [&] { return draw(random); });
    const Estimate estimate = estimate_median(samples);
    holds += estimate.low <= true_median && true_median <= estimate.high ? 1 : 0;
  }
  return static_cast<double>(holds) / kSeries;
}

TEST(EstimateMedian, OfOneSampleIsThatSample) {
  const Estimate estimate = estimate_median(std::vector{7.0});
  EXPECT_EQ(estimate.median, 7.0);
  EXPECT_EQ(estimate.low, 7.0);
  EXPECT_EQ(estimate.high, 7.0);
}

TEST(EstimateMedian, OfAnEvenNumberLiesHalfwayBetweenTheMiddleTwo) {
  EXPECT_EQ(estimate_median(std::vector{1.0, 4.0, 2.0, 3.0}).median, 2.5);
}

TEST(EstimateMedian, OfFewGoesByStudentWithinTheirRange) {
  // Five samples are worth 5 / (1 + 2 * sqrt(2 / 5)), two whole ones; their median deviation is 1,
  // and 12.7 * 1.2533 * 1.4826 / sqrt(2) is far beyond the range.
  const Estimate estimate = estimate_median(std::vector{3.0, 1.0, 5.0, 2.0, 4.0});
  EXPECT_EQ(estimate.low, 1.0);
  EXPECT_EQ(estimate.high, 5.0);
}

TEST(EstimateMedian, OfFewIsNotWidenedByABurst) {
  // A slow wave of 0.1% and a burst to twice the level: some five independent samples.
  std::vector<double> samples;
  for (int i = 0; i < 60; ++i) samples.push_back(100.0 + 0.1 * std::sin(i / 5.0));
  for (const int i : {30, 31, 32}) samples[static_cast<std::size_t>(i)] = 200.0;
  const Estimate estimate = estimate_median(samples);
  EXPECT_LT(estimate.effective_n, kFewestForRanks);
  EXPECT_GE(estimate.effective_n, 2);
  EXPECT_LT(estimate.low, 100.0);
  EXPECT_GT(estimate.high, 100.0);
  EXPECT_LT(estimate.high, 102.0);
}

TEST(EstimateMedian, HoldsWhereFewSamplesAreIndependent) {
  double state = 0;
  const auto draw = [&state](std::mt19937& r) {
    return state = 0.9 * state + std::normal_distribution(0.0)(r);
  };
  EXPECT_GE(coverage(85, 0.0, draw), 0.94);
}

TEST(EstimateMedian, TakesTheRanksOfTheBinomialDistribution) {
  // The order alternates around the median, so that nothing looks like drift: 20 samples are worth
  // 20 / (1 + 2 * sqrt(2 / 20)), 12 whole ones. For n = 12 the interval leaves out 2 on each side
  // (Conover, table A3), a sixth of them, so 3 of 20.
  std::vector<double> samples;
  for (int i = 0; i < 10; ++i) {
    samples.push_back(1.0 + i);
    samples.push_back(20.0 - i);
  }
  const Estimate estimate = estimate_median(samples);
  EXPECT_EQ(estimate.low, 4.0);
  EXPECT_EQ(estimate.high, 17.0);
}

TEST(EstimateMedian, HoldsForNormalSamples) {
  EXPECT_GE(coverage(40, 10.0, [](std::mt19937& r) { return std::normal_distribution(10.0)(r); }),
            0.94);
}

TEST(EstimateMedian, HoldsForHeavyTails) {
  EXPECT_GE(coverage(40, 0.0, [](std::mt19937& r) { return std::cauchy_distribution<>()(r); }),
            0.94);
}

TEST(EstimateMedian, HoldsForTwoModes) {
  // Three quarters near 10, a quarter near 20: the median is the 2/3 quantile of the lower mode.
  const auto draw = [](std::mt19937& r) {
    const bool upper = std::bernoulli_distribution(0.25)(r);
    return std::normal_distribution(upper ? 20.0 : 10.0, 0.5)(r);
  };
  EXPECT_GE(coverage(60, 10.0 + 0.5 * 0.4307, draw), 0.94);
}

TEST(EstimateMedian, HoldsWhereSamplesDependOnTheOnesBefore) {
  // An autoregressive series with correlation 0.8 from one sample to the next: taken as
  // independent, the interval would be three times too narrow and hold about half the time.
  double state = 0;
  const auto draw = [&state](std::mt19937& r) {
    return state = 0.8 * state + std::normal_distribution(0.0)(r);
  };
  EXPECT_GE(coverage(200, 0.0, draw), 0.94);
}

TEST(EstimateMedian, OfADriftingSeriesSpansTheDrift) {
  std::mt19937 random(1);
  std::vector<double> samples;
  for (int i = 0; i < 200; ++i) {
    samples.push_back(100.0 + 0.05 * i + std::normal_distribution(0.0, 0.1)(random));
  }
  const Estimate estimate = estimate_median(samples);
  EXPECT_LT(estimate.effective_n, 10);
  EXPECT_LT(estimate.low, 102.0);
  EXPECT_GT(estimate.high, 108.0);
}

TEST(RelativeHalfWidth, OfAZeroMedianIsInfinite) {
  EXPECT_TRUE(std::isinf(estimate_median(std::vector{0.0, 0.0, 0.0}).relative_half_width()));
}

}  // namespace
}  // namespace tierscope
