#include "sampling/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace tierscope {
namespace {

using Buckets = std::vector<std::pair<std::size_t, std::uint64_t>>;

constexpr std::uint64_t kHour = 3'600'000'000'000;

Buckets buckets(const Histogram& histogram) {
  Buckets found;
  histogram.for_each(
      [&](std::size_t bucket, std::uint64_t count) { found.emplace_back(bucket, count); });
  return found;
}

// The values of a bucket, as the header gives them.
std::pair<std::uint64_t, std::uint64_t> values_of(std::size_t bucket) {
  const std::uint64_t shift = bucket < 256 ? 0 : bucket / 128 - 1;
  const std::uint64_t low = (bucket - 128 * shift) << shift;
  return {low, low + (std::uint64_t{1} << shift) - 1};
}

TEST(Histogram, EveryValueIsInTheBucketThatTheFormulaSays) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> values{0, 1, 255, 256, 257, 511, 512, kHour, Histogram::kMaxValue};
  for (int bits = 1; bits <= 42; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    values.insert(values.end(), {power - 1, power - 2});
    if (bits < 42) values.insert(values.end(), {power, power + 1});
    for (int i = 0; i < 1000; ++i) values.push_back(random() % power);
  }
  for (const std::uint64_t value : values) {
    const auto [low, high] = values_of(Histogram::bucket_of(value));
    ASSERT_LE(low, value);
    ASSERT_GE(high, value);
    ASSERT_LE(static_cast<double>(high - low + 1), std::max(1.0, static_cast<double>(low) / 128));
  }
}

TEST(Histogram, BucketsFollowEachOtherWithoutGaps) {
  const std::size_t last = Histogram::bucket_of(Histogram::kMaxValue);
  EXPECT_EQ(values_of(last).second, Histogram::kMaxValue);
  for (std::size_t bucket = 0; bucket < last; ++bucket) {
    const auto [low, high] = values_of(bucket);
    ASSERT_EQ(Histogram::bucket_of(low), bucket);
    ASSERT_EQ(Histogram::bucket_of(high), bucket);
    ASSERT_EQ(values_of(bucket + 1).first, high + 1);
  }
}

TEST(Histogram, WhatTakesLongerThanItsRangeCountsAsTheLongest) {
  Histogram histogram;
  histogram.record(Histogram::kMaxValue);
  histogram.record(Histogram::kMaxValue + 1);
  histogram.record(UINT64_MAX);
  EXPECT_EQ(buckets(histogram), (Buckets{{Histogram::bucket_of(2 * kHour), 3}}));
}

// Each with its own generator of values in ns.
struct Shape {
  const char* name;
  std::function<double(std::mt19937_64&)> draw;
};

class HistogramOf : public testing::TestWithParam<Shape> {};

TEST_P(HistogramOf, HasEveryPercentileOfTheSortedValuesWithinOnePercent) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::mt19937_64 random(seed);
    Histogram histogram;
    std::vector<std::uint64_t> sorted;
    for (int i = 0; i < 20'000; ++i) {
      const auto value = static_cast<std::uint64_t>(GetParam().draw(random));
      histogram.record(value);
      sorted.push_back(value);
    }
    std::ranges::sort(sorted);
    EXPECT_EQ(histogram.count(), sorted.size());
    // Each of ten thousand percentiles by one of the seeds.
    for (int permyriad = static_cast<int>(seed); permyriad <= 10'000; permyriad += 5) {
      const double p = permyriad / 10'000.0;
      const auto rank = static_cast<std::size_t>(std::ceil(p * 20'000));
      const auto exact = static_cast<double>(sorted[rank - 1]);
      ASSERT_NEAR(histogram.quantile(p), exact, 0.01 * exact) << "seed " << seed << ", p " << p;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, HistogramOf,
    testing::Values(
        Shape{"uniform", [](auto& r) { return std::uniform_real_distribution(0.0, 1e5)(r); }},
        Shape{"exponential", [](auto& r) { return std::exponential_distribution(1e-5)(r); }},
        Shape{"heavy_tail", [](auto& r) { return std::lognormal_distribution(11.0, 2.0)(r); }},
        Shape{"all_magnitudes",
              [](auto& r) { return std::exp(std::uniform_real_distribution(0.0, 28.9)(r)); }},
        Shape{"constant", [](auto&) { return 123'456.0; }}),
    [](const auto& info) { return info.param.name; });

TEST(Histogram, KeepsRareLongDurationsOutOfTheMedian) {
  Histogram histogram;
  for (int i = 0; i < 998; ++i) histogram.record(100);
  histogram.record(100'000);
  histogram.record(100'000);
  EXPECT_EQ(histogram.quantile(0.99), 100);
  EXPECT_NEAR(histogram.quantile(0.999), 100'000, 400);
}

TEST(Histogram, SumsAreWhatOneHistogramOfAllValuesWouldHold) {
  std::mt19937_64 random(7);
  Histogram whole;
  std::array<Histogram, 3> parts;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t value = random() % kHour;
    whole.record(value);
    parts[static_cast<std::size_t>(i) % 3].record(value);
  }
  Histogram sum;
  for (const Histogram& part : parts) sum.add(part);
  EXPECT_EQ(buckets(sum), buckets(whole));
}

TEST(Histogram, IsEmptyAtFirstAndOnceCleared) {
  Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  histogram.record(5);
  histogram.record(kHour);
  EXPECT_EQ(histogram.count(), 2U);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(buckets(histogram), Buckets{});
}

}  // namespace
}  // namespace tierscope
