#include "harness/repetition_event.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace tierscope {
namespace {

using nlohmann::json;

Repetition two_samples() {
  SeriesSamples series{
      .name = "windows",
      .columns = {{.metric = "bandwidth", .part = ""}, {.metric = "thread_bandwidth", .part = "0"}},
      .samples = {}};
  series.samples.push_back(
      {.start_s = 5000.25, .duration_s = 0.01, .values = {12345678901.5, 12345678901.5}});
  series.samples.push_back({.start_s = 5000.5, .duration_s = 0.01, .values = {NAN, 0.5}});
  return {.seconds = 0.26,
          .interrupted = false,
          .series = {series},
          .evidence = {{"verified", "\xff"}}};
}

json parsed(const Repetition& repetition) {
  return json::parse(repetition_event("a", true, repetition));
}

TEST(RepetitionEvent, HoldsSamplesColumnByColumnFromACommonZero) {
  const json event = parsed(two_samples());
  EXPECT_EQ(event["event"], "repetition");
  EXPECT_EQ(event["id"], "a");
  EXPECT_EQ(event["seconds"], 0.26);
  EXPECT_EQ(event["fresh"], true);
  EXPECT_EQ(event["interrupted"], false);
  EXPECT_EQ(event["began_s"], 5000.25);
  const json& series = event["series"][0];
  EXPECT_EQ(series["starts"], json::array({0, 0.25}));
  EXPECT_EQ(series["durations"], json::array({0.01, 0.01}));
  EXPECT_EQ(series["columns"][0]["metric"], "bandwidth");
  EXPECT_EQ(series["columns"][1]["part"], "0");
}

TEST(RepetitionEvent, WritesAbsentValuesAsNullAndPartsWithSixDigits) {
  const json columns = parsed(two_samples())["series"][0]["columns"];
  EXPECT_EQ(columns[0]["values"][0], 12345678900.0);  // Ten digits.
  EXPECT_TRUE(columns[0]["values"][1].is_null());
  EXPECT_EQ(columns[1]["values"][0], 1.23457e10);
}

TEST(RepetitionEvent, SaysWhatOthersTookOfEachSampleWhereSomebodyLooked) {
  Repetition repetition = two_samples();
  EXPECT_FALSE(parsed(repetition)["series"][0].contains("lost"));
  SeriesSamples& series = repetition.series[0];
  series.watched = true;
  series.samples[1].lost_share = 0.12345;
  EXPECT_EQ(parsed(repetition)["series"][0]["lost"], json::array({0, 0.123}));
  EXPECT_FALSE(parsed(repetition)["series"][0].contains("stolen"));
  series.samples[0].stolen_s = 0.01;
  series.samples[1].lost_share = 1.5;  // Of a thread that ended later than the sample.
  EXPECT_EQ(parsed(repetition)["series"][0]["stolen"], json::array({0.01, 0}));
  EXPECT_EQ(parsed(repetition)["series"][0]["lost"], json::array({0, 1}));
}

TEST(RepetitionEvent, WritesBucketsAndCountsOfEachSample) {
  Repetition repetition = two_samples();
  EXPECT_FALSE(parsed(repetition)["series"][0].contains("distributions"));
  SeriesSamples& series = repetition.series[0];
  series.distributions = {{.metric = "io_latency", .part = "read"},
                          {.metric = "io_latency", .part = "write"}};
  Histogram reads;
  for (const std::uint64_t ns : {100, 100, 90, 100'000}) reads.record(ns);
  series.samples[0].histograms = {reads.counts(), {}};
  const json distributions = parsed(repetition)["series"][0]["distributions"];
  ASSERT_EQ(distributions.size(), 2U);
  EXPECT_EQ(distributions[0]["metric"], "io_latency");
  EXPECT_EQ(distributions[0]["part"], "read");
  EXPECT_EQ(distributions[0]["samples"],
            json::array({json::array({90, 1, 100, 2, 128 * 9 + 195, 1}), json::array()}));
  EXPECT_EQ(distributions[1]["part"], "write");
  EXPECT_EQ(distributions[1]["samples"], json::array({json::array(), json::array()}));
}

TEST(RepetitionEvent, SaysWhereDisturbedSamplesCountAsOthersDo) {
  Repetition repetition = two_samples();
  EXPECT_FALSE(parsed(repetition)["series"][0].contains("keep_disturbed"));
  repetition.series[0].keep_disturbed = true;
  EXPECT_EQ(parsed(repetition)["series"][0]["keep_disturbed"], true);
}

}  // namespace
}  // namespace tierscope
