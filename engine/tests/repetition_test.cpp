// The measuring loop on a fake machine.
#include "harness/repetition.h"

#include <gtest/gtest.h>

#include <vector>

#include "errors.h"
#include "fake_series.h"

namespace tierscope {
namespace {

using Numbers = std::vector<std::size_t>;

Numbers disturbed(const SeriesSamples& series) {
  Numbers found;
  for (std::size_t sample = 0; sample < series.samples.size(); ++sample) {
    if (is_disturbed(series.samples[sample])) found.push_back(sample);
  }
  return found;
}

class RepetitionTest : public testing::Test {
 protected:
  Repetition take(double seconds) {
    return repetition(state_, leases_, seconds, machine_.surroundings(),
                      [this](double elapsed_s, std::size_t samples, double latest) {
                        elapsed_s_ = elapsed_s;
                        samples_ = samples;
                        latest_ = latest;
                      });
  }

  FakeMachine machine_;
  FakeState state_;
  Leases leases_;
  double elapsed_s_ = 0;
  std::size_t samples_ = 0;
  double latest_ = -1;
};

TEST_F(RepetitionTest, TakesSamplesUntilTheTimeIsOverAndKeepsThemAll) {
  state_.given = {counting(machine_, {})};
  const Repetition repeated = take(0.095);
  ASSERT_EQ(repeated.series.size(), 1U);
  EXPECT_EQ(repeated.series[0].samples.size(), 10U);
  EXPECT_EQ(repeated.series[0].samples[0].values, (std::vector<double>{0, 0}));
  EXPECT_NEAR(repeated.seconds, 0.1, 1e-9);
  EXPECT_FALSE(repeated.interrupted);
}

TEST_F(RepetitionTest, TakesTwoSamplesHoweverShortTheRepetition) {
  state_.given = {counting(machine_, {})};
  EXPECT_EQ(take(1e-9).series[0].samples.size(), 2U);
}

TEST_F(RepetitionTest, TellsOfEachSample) {
  state_.given = {counting(machine_, {})};
  take(0.025);
  EXPECT_NEAR(elapsed_s_, 0.03, 1e-9);
  EXPECT_EQ(samples_, 3U);
  EXPECT_EQ(latest_, 2.0);
}

TEST_F(RepetitionTest, TimedSeriesShareTheTimeAndFixedOnesComeOnTop) {
  state_.given = {counting(machine_, {}), counting(machine_, {}), counting(machine_, {}, 7)};
  const Repetition repeated = take(0.195);
  EXPECT_EQ(repeated.series[0].samples.size(), 10U);
  EXPECT_EQ(repeated.series[1].samples.size(), 10U);
  EXPECT_EQ(repeated.series[2].samples.size(), 7U);
}

TEST_F(RepetitionTest, SaysNothingOfDisturbancesWhereNobodyLooks) {
  machine_.stolen_in = {1};
  state_.given = {counting(machine_, {}, 0, [](int) { return 0.5; })};
  const Repetition repeated = take(0.05);
  EXPECT_FALSE(repeated.series[0].watched);
  EXPECT_FALSE(repeated.evidence.contains("steal_share"));
}

TEST_F(RepetitionTest, NamesSamplesInWhichAThreadLostTimeOrTheHypervisorTookSome) {
  machine_.stolen_in = {3};
  state_.given = {
      counting(machine_, {0, 1}, 0, [](int sample) { return sample == 1 ? 0.02 : 0.005; })};
  const Repetition repeated = take(0.045);
  EXPECT_EQ(repeated.series[0].samples.size(), 5U);
  EXPECT_EQ(disturbed(repeated.series[0]), (Numbers{1, 3}));
  // One tick of 10 ms on two CPUs that were watched for 5 samples of 10 ms.
  EXPECT_NEAR(repeated.evidence["steal_share"].get<double>(), 0.1, 1e-9);
}

TEST_F(RepetitionTest, AnUndisturbedRepetitionSaysThatSomebodyLooked) {
  state_.given = {counting(machine_, {0})};
  const Repetition repeated = take(0.05);
  EXPECT_TRUE(repeated.series[0].watched);
  EXPECT_EQ(disturbed(repeated.series[0]), Numbers{});
  EXPECT_EQ(repeated.evidence["steal_share"], 0.0);
}

TEST_F(RepetitionTest, ADisturbedSampleOfAFixedNumberIsTakenAgain) {
  state_.given = {counting(machine_, {0}, 4, [](int sample) { return sample < 2 ? 1.0 : 0.0; })};
  const Repetition repeated = take(1);
  EXPECT_EQ(repeated.series[0].samples.size(), 6U);
  EXPECT_EQ(disturbed(repeated.series[0]), (Numbers{0, 1}));
}

TEST_F(RepetitionTest, ADisturbedSampleIsNotTakenAgainWhereTheSeriesKeepsThem) {
  Series series = counting(machine_, {0}, 4, [](int sample) { return sample < 2 ? 1.0 : 0.0; });
  series.keep_disturbed = true;
  state_.given = {series};
  const SeriesSamples samples = take(1).series[0];
  EXPECT_EQ(samples.samples.size(), 4U);
  EXPECT_EQ(disturbed(samples), (Numbers{0, 1}));
  EXPECT_TRUE(samples.keep_disturbed);
}

TEST_F(RepetitionTest, SamplesKeepTheirHistograms) {
  Series series = counting(machine_, {}, 2);
  series.distributions = {{.metric = "io_latency", .part = ""}};
  series.take = [take_sample = series.take] {
    Sample sample = take_sample();
    Histogram histogram;
    histogram.record(static_cast<std::uint64_t>(sample.values[0]) + 7);
    sample.histograms = {histogram.counts()};
    return sample;
  };
  state_.given = {series};
  const SeriesSamples samples = take(1).series[0];
  ASSERT_EQ(samples.distributions.size(), 1U);
  EXPECT_EQ(samples.distributions[0].metric, "io_latency");
  for (std::size_t sample = 0; sample < 2; ++sample) {
    EXPECT_EQ(samples.samples[sample].histograms.at(0), (BucketCounts{{sample + 7, 1}}));
  }
}

TEST_F(RepetitionTest, TwiceAsManySamplesAsAskedForAreTheMost) {
  state_.given = {counting(machine_, {0}, 4, [](int) { return 1.0; })};
  EXPECT_EQ(take(1).series[0].samples.size(), 8U);
}

TEST_F(RepetitionTest, ASignalCutsTheSampleAndEndsTheRepetition) {
  machine_.interrupt_in = 3;
  state_.given = {counting(machine_, {}), counting(machine_, {})};
  const Repetition repeated = take(1);
  EXPECT_TRUE(repeated.interrupted);
  ASSERT_EQ(repeated.series.size(), 1U) << "a series without a sample is left out";
  EXPECT_EQ(repeated.series[0].samples.size(), 3U);
}

TEST_F(RepetitionTest, ASignalBeforeTheFirstWholeSampleLeavesNothing) {
  machine_.interrupt_in = 0;
  state_.given = {counting(machine_, {})};
  EXPECT_THROW(take(1), Interrupted);
}

TEST_F(RepetitionTest, ARowThatThrowsInterruptedIsCut) {
  Series series = counting(machine_, {});
  const auto take_sample = series.take;
  series.take = [&, take_sample] {
    if (machine_.samples == 2) throw Interrupted();
    return take_sample();
  };
  state_.given = {series};
  const Repetition repeated = take(1);
  EXPECT_TRUE(repeated.interrupted);
  EXPECT_EQ(repeated.series[0].samples.size(), 2U);
}

TEST_F(RepetitionTest, AddsTheClockWhereTheKindDoesNot) {
  state_.given = {counting(machine_, {})};
  EXPECT_TRUE(take(0.05).evidence.contains("clock"));
  state_.observed = {{"clock", "another"}};
  const Repetition repeated = take(0.05);
  EXPECT_EQ(repeated.evidence["clock"], "another");
}

TEST_F(RepetitionTest, OpensAgainOnceIdleRegionsAreGone) {
  const std::vector<int> cpu{0};
  const std::vector<RegionKey> key{{1 << 20, Pages::kBase, {Policy::kBind, {{0}}}}};
  leases_.begin_repetition(false);
  leases_.regions(key, leases_.team(cpu));
  leases_.begin_repetition(false);
  int opened = 0;
  state_.opening = [&](Leases& leases) {
    ++opened;
    if (leases.size() > 0) throw Unavailable(Cause::kMemory, "too little");
  };
  state_.given = {counting(machine_, {})};
  take(0.01);
  EXPECT_EQ(opened, 2);
  state_.opening = [&](Leases&) { throw Unavailable(Cause::kMemory, "too little"); };
  EXPECT_THROW(take(0.01), Unavailable);
}

}  // namespace
}  // namespace tierscope
