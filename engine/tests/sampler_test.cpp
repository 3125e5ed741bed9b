#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace tierscope {
namespace {

// Samples of a made-up machine, each of which takes 10 ms of a made-up clock.
struct Machine {
  std::function<double(int number)> value;
  int interrupt_at = -1;  // During this sample; -1: never.
  double clock = 0;
  int taken = 0;

  Sampled sample(const SamplingRule& rule) {
    const Surroundings surroundings{
        .now = [this] { return clock; },
        .interrupted = [this] { return interrupt_at >= 0 && taken > interrupt_at; },
        .progress = [](double, const std::vector<double>&) {}};
    return take_samples(
        rule,
        [this] {
          clock += 0.01;
          return value(taken++);
        },
        surroundings);
  }
};

constexpr SamplingRule kRule{.precision = 0.01, .budget_s = 10, .sample_s = 0.01};

TEST(TakeSamples, StopsAsSoonAsAQuietMachineIsSure) {
  Machine machine{.value = [](int i) { return 100.0 + 0.1 * (i % 3); }};
  const Sampled sampled = machine.sample(kRule);
  EXPECT_EQ(sampled.stop, Stop::kPrecision);
  EXPECT_NEAR(sampled.estimate.median, 100.1, 0.1);
  EXPECT_GE(sampled.samples.size(), static_cast<std::size_t>(kFewest));
  EXPECT_GE(machine.clock, kShortest * kRule.budget_s);
  EXPECT_LT(machine.clock, 2 * kShortest * kRule.budget_s);
}

TEST(TakeSamples, DropsSamplesUntilTwoAgree) {
  Machine machine{.value = [](int i) { return i < 5 ? 10.0 * i + 1 : 100.0; }};
  const Sampled sampled = machine.sample(kRule);
  EXPECT_TRUE(sampled.settled);
  EXPECT_EQ(sampled.warm_up, 7);  // Five rising ones, then 100 and the 100 that agrees with it.
  EXPECT_EQ(sampled.estimate.low, 100.0);
}

TEST(TakeSamples, GivesWarmingUpAFifthOfTheBudgetAndSaysSo) {
  Machine machine{.value = [](int i) { return i % 2 == 0 ? 100.0 : 200.0; }};
  const Sampled sampled = machine.sample({.precision = 0.01, .budget_s = 1, .sample_s = 0.01});
  EXPECT_FALSE(sampled.settled);
  EXPECT_EQ(sampled.warm_up, 20);
}

TEST(TakeSamples, OfADriftingMachineRunsToTheBudget) {
  Machine machine{.value = [](int i) { return 100.0 * (1 + 0.005 * i); }};
  const Sampled sampled = machine.sample({.precision = 0.01, .budget_s = 2, .sample_s = 0.01});
  EXPECT_EQ(sampled.stop, Stop::kBudget);
  EXPECT_GT(sampled.estimate.relative_half_width(), 0.01);
}

TEST(TakeSamples, OfAMachineWithTwoModesNeverClaimsToBeSure) {
  std::mt19937 random(7);
  Machine machine{
      .value = [&](int) { return std::bernoulli_distribution(0.5)(random) ? 100.0 : 120.0; }};
  const Sampled sampled = machine.sample({.precision = 0.01, .budget_s = 2, .sample_s = 0.01});
  EXPECT_EQ(sampled.stop, Stop::kBudget);
}

TEST(TakeSamples, IsNotMovedByRareOutliers) {
  std::mt19937 random(7);
  Machine machine{.value = [&](int) {
    return std::bernoulli_distribution(0.05)(random) ? 1e6
                                                     : std::normal_distribution(100.0, 0.5)(random);
  }};
  const Sampled sampled = machine.sample(kRule);
  EXPECT_EQ(sampled.stop, Stop::kPrecision);
  EXPECT_NEAR(sampled.estimate.median, 100.0, 1.0);
}

TEST(TakeSamples, TakesOneSampleHoweverSmallTheBudget) {
  Machine machine{.value = [](int) { return 5.0; }};
  const Sampled sampled = machine.sample({.precision = 0.01, .budget_s = 1e-6, .sample_s = 0.01});
  EXPECT_EQ(sampled.samples.size(), 1U);
  EXPECT_EQ(sampled.stop, Stop::kBudget);
}

TEST(TakeSamples, KeepsWhatItHasWhenInterrupted) {
  Machine machine{.value = [](int i) { return 100.0 + 1.5 * (i % 7); }, .interrupt_at = 30};
  const Sampled sampled = machine.sample(kRule);
  EXPECT_EQ(sampled.stop, Stop::kInterrupted);
  // The sample in which the signal came is not kept.
  EXPECT_EQ(static_cast<int>(sampled.samples.size()) + sampled.warm_up, 30);
}

TEST(TakeSamples, HasNothingWhenInterruptedWhileWarmingUp) {
  Machine machine{.value = [](int i) { return 1.0 * i; }, .interrupt_at = 0};
  EXPECT_TRUE(machine.sample(kRule).samples.empty());
}

// Of the made-up samples each `every`-th is disturbed and comes out twice as high.
Sampled with_disturbed(const SamplingRule& rule, int every) {
  double clock = 0;
  int taken = 0;
  const Surroundings surroundings{.now = [&] { return clock; },
                                  .interrupted = [] { return false; },
                                  .progress = [](double, const std::vector<double>&) {},
                                  .disturbed = [&] { return taken % every == 0; }};
  return take_samples(
      rule,
      [&] {
        clock += 0.01;
        ++taken;
        return taken % every == 0 ? 200.0 : 100.0;
      },
      surroundings);
}

TEST(TakeSamples, TakesDisturbedOnesAgainAndSaysHowMany) {
  const Sampled sampled = with_disturbed(kRule, 3);
  EXPECT_EQ(sampled.estimate.high, 100.0);
  EXPECT_EQ(sampled.disturbed, 0);
  EXPECT_GT(sampled.replaced, 0);
}

TEST(TakeSamples, KeepsDisturbedOnesWhereTheBudgetBringsNoCalmOnes) {
  const Sampled sampled = with_disturbed({.precision = 0.01, .budget_s = 1, .sample_s = 0.01}, 1);
  EXPECT_EQ(sampled.stop, Stop::kBudget);
  EXPECT_EQ(sampled.disturbed, static_cast<int>(sampled.samples.size()));
  EXPECT_EQ(sampled.replaced, 0);
}

}  // namespace
}  // namespace tierscope
