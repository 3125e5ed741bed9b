// The measuring loop on a fake machine.
#include "harness/visit.h"

#include <gtest/gtest.h>

#include <vector>

#include "errors.h"
#include "fake_series.h"

namespace tierscope {
namespace {

using Numbers = std::vector<std::size_t>;

class VisitTest : public testing::Test {
 protected:
  Visit take(double seconds) {
    return visit(state_, leases_, seconds, machine_.surroundings(),
                 [this](double elapsed_s, std::size_t rows, double latest) {
                   elapsed_s_ = elapsed_s;
                   rows_ = rows;
                   latest_ = latest;
                 });
  }

  FakeMachine machine_;
  FakeState state_;
  Leases leases_;
  double elapsed_s_ = 0;
  std::size_t rows_ = 0;
  double latest_ = -1;
};

TEST_F(VisitTest, TakesRowsUntilTheTimeIsOverAndKeepsThemAll) {
  state_.given = {counting(machine_, {})};
  const Visit visited = take(0.095);
  ASSERT_EQ(visited.series.size(), 1U);
  EXPECT_EQ(visited.series[0].rows.size(), 10U);
  EXPECT_EQ(visited.series[0].rows[0].values, (std::vector<double>{0, 0}));
  EXPECT_NEAR(visited.seconds, 0.1, 1e-9);
  EXPECT_FALSE(visited.interrupted);
}

TEST_F(VisitTest, TakesTwoRowsHoweverShortTheVisit) {
  state_.given = {counting(machine_, {})};
  EXPECT_EQ(take(1e-9).series[0].rows.size(), 2U);
}

TEST_F(VisitTest, TellsOfEachRow) {
  state_.given = {counting(machine_, {})};
  take(0.025);
  EXPECT_NEAR(elapsed_s_, 0.03, 1e-9);
  EXPECT_EQ(rows_, 3U);
  EXPECT_EQ(latest_, 2.0);
}

TEST_F(VisitTest, TimedSeriesShareTheTimeAndFixedOnesComeOnTop) {
  state_.given = {counting(machine_, {}), counting(machine_, {}), counting(machine_, {}, 7)};
  const Visit visited = take(0.195);
  EXPECT_EQ(visited.series[0].rows.size(), 10U);
  EXPECT_EQ(visited.series[1].rows.size(), 10U);
  EXPECT_EQ(visited.series[2].rows.size(), 7U);
}

TEST_F(VisitTest, SaysNothingOfDisturbancesWhereNobodyLooks) {
  machine_.stolen_in = {1};
  state_.given = {counting(machine_, {}, 0, [](int) { return 0.5; })};
  const Visit visited = take(0.05);
  EXPECT_FALSE(visited.series[0].disturbed.has_value());
  EXPECT_FALSE(visited.evidence.contains("steal_share"));
}

TEST_F(VisitTest, NamesRowsInWhichAThreadLostTimeOrTheHypervisorTookSome) {
  machine_.stolen_in = {3};
  state_.given = {counting(machine_, {0, 1}, 0, [](int row) { return row == 1 ? 0.02 : 0.005; })};
  const Visit visited = take(0.045);
  EXPECT_EQ(visited.series[0].rows.size(), 5U);
  EXPECT_EQ(*visited.series[0].disturbed, (Numbers{1, 3}));
  // One tick of 10 ms on two CPUs that were watched for 5 rows of 10 ms.
  EXPECT_NEAR(visited.evidence["steal_share"].get<double>(), 0.1, 1e-9);
}

TEST_F(VisitTest, AnUndisturbedVisitSaysThatSomebodyLooked) {
  state_.given = {counting(machine_, {0})};
  const Visit visited = take(0.05);
  EXPECT_EQ(*visited.series[0].disturbed, Numbers{});
  EXPECT_EQ(visited.evidence["steal_share"], 0.0);
}

TEST_F(VisitTest, ADisturbedRowOfAFixedNumberIsTakenAgain) {
  state_.given = {counting(machine_, {0}, 4, [](int row) { return row < 2 ? 1.0 : 0.0; })};
  const Visit visited = take(1);
  EXPECT_EQ(visited.series[0].rows.size(), 6U);
  EXPECT_EQ(*visited.series[0].disturbed, (Numbers{0, 1}));
}

TEST_F(VisitTest, ADisturbedRowIsNotTakenAgainWhereTheSeriesKeepsThem) {
  Series series = counting(machine_, {0}, 4, [](int row) { return row < 2 ? 1.0 : 0.0; });
  series.keep_disturbed = true;
  state_.given = {series};
  const SeriesRows rows = take(1).series[0];
  EXPECT_EQ(rows.rows.size(), 4U);
  EXPECT_EQ(*rows.disturbed, (Numbers{0, 1}));
  EXPECT_TRUE(rows.keep_disturbed);
}

TEST_F(VisitTest, RowsKeepTheirHistograms) {
  Series series = counting(machine_, {}, 2);
  series.distributions = {{.metric = "io_latency", .part = ""}};
  series.take = [take_row = series.take] {
    Row row = take_row();
    Histogram histogram;
    histogram.record(static_cast<std::uint64_t>(row.values[0]) + 7);
    row.histograms = {histogram.counts()};
    return row;
  };
  state_.given = {series};
  const SeriesRows rows = take(1).series[0];
  ASSERT_EQ(rows.distributions.size(), 1U);
  EXPECT_EQ(rows.distributions[0].metric, "io_latency");
  for (std::size_t row = 0; row < 2; ++row) {
    EXPECT_EQ(rows.rows[row].histograms.at(0), (BucketCounts{{row + 7, 1}}));
  }
}

TEST_F(VisitTest, TwiceAsManyRowsAsAskedForAreTheMost) {
  state_.given = {counting(machine_, {0}, 4, [](int) { return 1.0; })};
  EXPECT_EQ(take(1).series[0].rows.size(), 8U);
}

TEST_F(VisitTest, ASignalCutsTheRowAndEndsTheVisit) {
  machine_.interrupt_in = 3;
  state_.given = {counting(machine_, {}), counting(machine_, {})};
  const Visit visited = take(1);
  EXPECT_TRUE(visited.interrupted);
  ASSERT_EQ(visited.series.size(), 1U) << "a series without a row is left out";
  EXPECT_EQ(visited.series[0].rows.size(), 3U);
}

TEST_F(VisitTest, ASignalBeforeTheFirstWholeRowLeavesNothing) {
  machine_.interrupt_in = 0;
  state_.given = {counting(machine_, {})};
  EXPECT_THROW(take(1), Interrupted);
}

TEST_F(VisitTest, ARowThatThrowsInterruptedIsCut) {
  Series series = counting(machine_, {});
  const auto take_row = series.take;
  series.take = [&, take_row] {
    if (machine_.rows == 2) throw Interrupted();
    return take_row();
  };
  state_.given = {series};
  const Visit visited = take(1);
  EXPECT_TRUE(visited.interrupted);
  EXPECT_EQ(visited.series[0].rows.size(), 2U);
}

TEST_F(VisitTest, AddsTheClockWhereTheKindDoesNot) {
  state_.given = {counting(machine_, {})};
  EXPECT_TRUE(take(0.05).evidence.contains("clock"));
  state_.observed = {{"clock", "another"}};
  const Visit visited = take(0.05);
  EXPECT_EQ(visited.evidence["clock"], "another");
}

TEST_F(VisitTest, OpensAgainOnceIdleRegionsAreGone) {
  const std::vector<int> cpu{0};
  const std::vector<RegionKey> key{{1 << 20, Pages::kBase, {Policy::kBind, {{0}}}}};
  leases_.begin_visit(false);
  leases_.regions(key, leases_.team(cpu));
  leases_.begin_visit(false);
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
