// The CPU kinds on this machine's memory and files, with disturbances in chosen samples: whatever a
// sample's figures are, they are all of the same window.
#include <gtest/gtest.h>

#include <algorithm>
#include <any>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "errors.h"
#include "harness/leases.h"
#include "harness/plan.h"
#include "harness/repetition.h"
#include "memory/system_memory.h"
#include "protocol/object_reader.h"
#include "sampling/clock.h"
#include "scratch_directory.h"
#include "threads/affinity.h"

namespace tierscope {
namespace {

using nlohmann::json;

const json kNodeZero = json::parse(R"({"policy": "bind", "nodes": [{"node": 0}]})");
constexpr double kSample = 0.002;

json measurement(const std::string& kind, const json& more) {
  json made = {
      {"id", "a"},          {"kind", kind},           {"initiator", "node:0"},
      {"target", "node:0"}, {"placement", kNodeZero}, {"sampling", {{"sample_s", kSample}}}};
  made.update(more);
  return made;
}

json load(int writes) {
  return {{"initiator", "node:0"},
          {"target", "node:0"},
          {"cpus", {allowed_cpus().back()}},
          {"placement", kNodeZero},
          {"pattern", {{"writes", writes}, {"size", 1 << 20}, {"pages", "base"}}}};
}

using Columns = std::map<std::string, std::vector<double>>;  // "metric part".

// A measurement and its repetitions; the hypervisor takes time in every third sample.
class Repeated {
 public:
  explicit Repeated(const json& spec)
      : state_(parse_plan({{"version", 2}, {"measurements", json::array({spec})}}).front().make()) {
  }

  Repetition repetition(double seconds = 10 * kSample, bool fresh = false) {
    leases_.begin_repetition(fresh);
    int samples = 0;
    const Surroundings surroundings{
        .now = now_seconds,
        .interrupted = [] { return false; },
        .stolen_seconds = [&samples](std::span<const int>) { return samples++ / 3 * 0.01; }};
    return tierscope::repetition(*state_, leases_, seconds, surroundings,
                                 [](double, std::size_t, double) {});
  }

  // So many regions of a megabyte, as the last repetition left them, for another holder.
  std::vector<Lease> leases(std::size_t count) {
    leases_.begin_repetition(false);
    const RegionKey key{1 << 20, Pages::kBase, {Policy::kBind, {{0}}}};
    return leases_.regions(std::vector(count, key),
                           leases_.team(std::vector<int>{allowed_cpus().front()}));
  }

  // Changes a bit of the region of so many bytes, and leaves what its contents are said to be.
  void corrupt(std::size_t bytes, std::size_t at) {
    leases_.begin_repetition(false);
    const std::vector keys{RegionKey{bytes, Pages::kBase, {Policy::kBind, {{0}}}}};
    const Lease lease = leases_
                            .regions(keys, leases_.team(std::vector<int>{allowed_cpus().front()}),
                                     [](std::size_t, const std::any&) { return true; })
                            .front();
    EXPECT_FALSE(lease.is_new);
    lease.region->data()[at] ^= std::byte{1};
    *lease.contents = lease.found;
  }

 private:
  std::unique_ptr<State> state_;
  Leases leases_;
};

Columns columns(const SeriesSamples& series) {
  Columns found;
  for (std::size_t i = 0; i < series.columns.size(); ++i) {
    for (const Sample& sample : series.samples) {
      found[series.columns[i].metric + series.columns[i].part].push_back(sample.values.at(i));
    }
  }
  return found;
}

// Every third sample was disturbed, whatever else happened on this machine meanwhile.
void expect_every_third_disturbed(const SeriesSamples& series) {
  ASSERT_TRUE(series.watched);
  for (std::size_t sample = 2; sample < series.samples.size(); sample += 3) {
    EXPECT_TRUE(is_disturbed(series.samples[sample])) << sample;
  }
}

json bandwidth(const std::string& operation, const json& pattern = json::object()) {
  json made = measurement(
      "bandwidth", {{"cpus", {allowed_cpus().front()}},
                    {"pattern", {{"operation", operation}, {"size", 1 << 20}, {"pages", "base"}}}});
  if (allowed_cpus().size() > 1) made["cpus"].push_back(allowed_cpus().back());
  made["pattern"].update(pattern);
  return made;
}

TEST(BandwidthKind, ThreadsRatesAddUpToTheTotalInEverySample) {
  Repeated read(bandwidth("read"));
  const SeriesSamples series = read.repetition().series.at(0);
  expect_every_third_disturbed(series);
  const Columns samples = columns(series);
  for (std::size_t sample = 0; sample < series.samples.size(); ++sample) {
    double sum = 0;
    for (std::size_t thread = 0; thread + 1 < samples.size(); ++thread) {
      sum += samples.at("thread_bandwidth" + std::to_string(thread))[sample];
    }
    EXPECT_NEAR(sum, samples.at("bandwidth")[sample], 1e-6 * sum);
  }
}

TEST(BandwidthKind, WriteAllocateIsTwiceTheBandwidthOfOrdinaryWritesInEverySample) {
  Repeated write(bandwidth("write", {{"size", 1 << 30}, {"pages", "thp"}}));
  Repetition repeated;
  try {
    repeated = write.repetition();
  } catch (const Unavailable& error) {
    GTEST_SKIP() << error.what();
  }
  const Columns samples = columns(repeated.series.at(0));
  const auto total = samples.find("bandwidth_with_write_allocate");
  if (total == samples.end()) GTEST_SKIP() << "caches of a gigabyte";
  for (std::size_t sample = 0; sample < total->second.size(); ++sample) {
    EXPECT_DOUBLE_EQ(total->second[sample], 2 * samples.at("bandwidth")[sample]);
  }
}

TEST(BandwidthKind, LaterRepetitionsGoOnWithTheSameArrays) {
  for (const char* operation : {"rmw", "triad"}) {
    Repeated repeated(bandwidth(operation));
    for (int repetition = 0; repetition < 3; ++repetition)
      EXPECT_NO_THROW(repeated.repetition()) << repetition;
    EXPECT_NO_THROW(repeated.repetition(10 * kSample, true));
  }
}

TEST(BandwidthKind, DataThatAnotherHolderOverwroteIsFilledAgain) {
  Repeated triad(bandwidth("triad"));
  triad.repetition();
  for (const Lease& other : triad.leases(3)) {
    EXPECT_FALSE(other.is_new);
    std::fill_n(other.region->data(), other.region->size(), std::byte{7});
  }
  EXPECT_NO_THROW(triad.repetition());
}

TEST(BandwidthKind, WrongElementsFailAFurtherRepetitionToo) {
  Repeated copy(bandwidth("copy"));
  copy.repetition();
  for (const Lease& other : copy.leases(2)) {
    std::fill_n(other.region->data(), other.region->size(), std::byte{7});
    *other.contents = other.found;  // As if nobody had written.
  }
  try {
    copy.repetition();
    FAIL() << "wrong elements were not seen";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.cause(), Cause::kVerification);
  }
}

TEST(BandwidthKind, ThreadsThatShareTheArraysVerifyAllOfThem) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  for (const char* const operation : {"read", "write", "copy", "triad"}) {
    for (const char* const order : {"sequential", "reverse", "random"}) {
      // Not a whole number of what threads fill in turn; so small that slow builds walk it all.
      constexpr std::size_t kSize = (1U << 16) + 4096 + 64;
      Repeated shared(
          bandwidth(operation, {{"sharing", "shared"}, {"order", order}, {"size", kSize}}));
      const Repetition repetition = shared.repetition();
      EXPECT_EQ(repetition.evidence.at("walked_bytes"), kSize) << operation << ' ' << order;
      if (operation == std::string("read")) continue;
      EXPECT_EQ(repetition.evidence.at("verified").get<std::string>().substr(0, 11), "69696 bytes")
          << repetition.evidence.at("verified");
    }
  }
}

TEST(BandwidthKind, UpdatesOfASharedArrayAreRefused) {
  try {
    const Repeated refused(bandwidth("rmw", {{"sharing", "shared"}}));
    FAIL() << "updates that meet are lost";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("sharing"), std::string::npos) << error.what();
  }
}

// The kernel's way to place memory is not that of the engine, so that the arrays are apart though
// the machine has one node.
TEST(BandwidthKind, ArraysThatArePlacedApartHaveEvidenceOfTheirOwn) {
  json made = bandwidth("triad");
  made["placement_c"] = {{"policy", "preferred"}, {"nodes", json::array({{{"node", 0}}})}};
  Repeated triad(made);
  const auto evidence = triad.repetition().evidence;
  const std::size_t pages = (std::size_t{1} << 20) / base_page_bytes();
  for (const char* array : {"a", "b", "c"}) EXPECT_EQ(evidence["arrays"][array]["0"], pages);
  EXPECT_EQ(evidence["pages"]["0"], 3 * pages);
  EXPECT_FALSE(Repeated(bandwidth("triad")).repetition().evidence.contains("arrays"));
}

TEST(BandwidthKind, SharesHoldWholeRoundsOfAllArrays) {
  json made = bandwidth("copy", {{"size", 7 * base_page_bytes()}});
  made["placement_b"] = {{"policy", "interleave"}, {"nodes", json::array({{{"node", 0}}})}};
  EXPECT_NO_THROW(Repeated(made).repetition());
}

TEST(BandwidthKind, ThreadsPlaceWhatTheyTouchFirst) {
  json made = bandwidth("copy");
  made["placement"] = {{"policy", "first-touch"}, {"nodes", json::array({{{"node", 0}}})}};
  Repeated copy(made);
  EXPECT_TRUE(copy.repetition().evidence["pages"].contains("0"));
  EXPECT_NO_THROW(copy.repetition(10 * kSample, true));
}

TEST(BandwidthKind, RefusesToPlaceAnArrayThatTheOperationHasNot) {
  json made = bandwidth("copy");
  made["placement_c"] = kNodeZero;
  EXPECT_THROW(Repeated{made}, PlanError);
}

TEST(LatencyKind, HasNoFirstTouch) {
  json made = measurement("latency", {{"cpu", allowed_cpus().front()},
                                      {"pattern", {{"size", 1 << 16}, {"pages", "base"}}}});
  EXPECT_NO_THROW(Repeated{made});
  made["placement"]["policy"] = "first-touch";
  EXPECT_THROW(Repeated{made}, PlanError);
}

TEST(BandwidthKind, FurtherRepetitionsCompareASample) {
  Repeated copy(bandwidth("copy", {{"size", 1 << 24}}));
  const auto verified = [&copy] {
    return copy.repetition().evidence["verified"].get<std::string>();
  };
  EXPECT_EQ(verified().find("at random places"), std::string::npos);
  EXPECT_NE(verified().find("of 16777216 bytes compared at random places"), std::string::npos);
  EXPECT_NE(verified().find("(seeds 1 to 2)"), std::string::npos);
}

TEST(LatencyKind, GoesOnWhereTheLastRepetitionStopped) {
  Repeated latency(measurement("latency", {{"cpu", allowed_cpus().front()},
                                           {"pattern", {{"size", 1 << 26}, {"pages", "base"}}}}));
  const auto walked = [](const Repetition& repetition) {
    return repetition.evidence["walked_bytes"].get<std::uint64_t>();
  };
  const Repetition first = latency.repetition();
  expect_every_third_disturbed(first.series.at(0));
  const Repetition second = latency.repetition();
  EXPECT_GT(walked(second), walked(first));
  EXPECT_LT(walked(latency.repetition(kSample, true)), walked(second)) << "new pages begin anew";
}

// Each repetition goes on where the chases stand; all of the cycle is theirs together.
TEST(LatencyKind, SeveralChasesWalkTheWholeRegion) {
  Repeated latency(measurement("latency", {{"cpu", allowed_cpus().front()},
                                           {"chases", 12},
                                           {"pattern", {{"size", 1 << 16}, {"pages", "base"}}}}));
  const Repetition repeated = latency.repetition();
  const SeriesSamples& loads = repeated.series.at(0);
  ASSERT_EQ(loads.columns.size(), 3U);
  for (const Sample& sample : loads.samples) {
    EXPECT_DOUBLE_EQ(sample.values[0], 12 * sample.values[1]);
    EXPECT_NEAR(sample.values[2] * sample.values[1], 64e9, 1);
  }
  EXPECT_EQ(repeated.evidence["walked_bytes"], 1 << 16);
}

TEST(LatencyKind, RefusesMoreChasesThanLines) {
  const auto parse = [](int chases) {
    const Repeated latency(measurement(
        "latency",
        {{"cpu", allowed_cpus().front()}, {"chases", chases}, {"pattern", {{"size", 512}}}}));
  };
  EXPECT_NO_THROW(parse(8));
  EXPECT_THROW(parse(9), PlanError);
}

TEST(LoadedLatencyKind, HasDisturbedWindowsOfLatencyAndLoadTogether) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  Repeated loaded(
      measurement("loaded-latency", {{"cpu", allowed_cpus().front()},
                                     {"pattern", {{"size", 1 << 20}, {"pages", "base"}}},
                                     {"load", load(50)}}));
  const Repetition repeated = loaded.repetition();
  ASSERT_EQ(repeated.series.size(), 2U);
  const SeriesSamples& windows = repeated.series[0];
  expect_every_third_disturbed(windows);
  EXPECT_EQ(windows.columns[0].metric, "latency");
  EXPECT_EQ(windows.columns[1].metric, "bandwidth");
  for (const Sample& sample : windows.samples)
    EXPECT_EQ(sample.values.size(), windows.columns.size());
  const SeriesSamples& timed = repeated.series[1];
  ASSERT_EQ(timed.distributions.size(), 1U);
  EXPECT_EQ(timed.distributions[0].metric, "latency");
  const auto disturbed = std::ranges::count_if(timed.samples, is_disturbed);
  EXPECT_GE(timed.samples.size() - static_cast<std::size_t>(disturbed),
            timed.samples.size() < 40 ? 20U : 0U);
  EXPECT_TRUE(repeated.evidence["workloads"].contains("load"));
}

TEST(LoadedLatencyKind, AnIdleLoadHasNoRate) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  json idle = load(50);
  idle["idle"] = true;
  Repeated loaded(
      measurement("loaded-latency", {{"cpu", allowed_cpus().front()},
                                     {"pattern", {{"size", 1 << 20}, {"pages", "base"}}},
                                     {"load", idle}}));
  const Repetition repeated = loaded.repetition();
  EXPECT_EQ(columns(repeated.series[0]).size(), 1U);
  EXPECT_FALSE(repeated.evidence.contains("workloads"));
}

TEST(TrafficKind, TotalIsTheSumOfAllStreamsInEverySample) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  json other = load(100);
  other["name"] = "writer";
  Repeated streams(measurement("traffic", {{"cpus", {allowed_cpus().front()}},
                                           {"pattern", {{"size", 1 << 20}, {"pages", "base"}}},
                                           {"beside", json::array({other})}}));
  const SeriesSamples series = streams.repetition().series.at(0);
  expect_every_third_disturbed(series);
  const Columns samples = columns(series);
  for (std::size_t sample = 0; sample < series.samples.size(); ++sample) {
    EXPECT_DOUBLE_EQ(samples.at("total_bandwidth")[sample],
                     samples.at("bandwidth")[sample] + samples.at("bandwidthwriter")[sample]);
  }
  EXPECT_NO_THROW(streams.repetition());
}

TEST(AtomicsKind, EachSampleHasItsOwnTriesAndTimeForAnUpdate) {
  Repeated atomics(measurement(
      "atomics",
      {{"cpus", {allowed_cpus().front()}},
       {"pattern", {{"operation", "compare-and-swap"}, {"size", 4096}, {"pages", "base"}}}}));
  const SeriesSamples series = atomics.repetition().series.at(0);
  expect_every_third_disturbed(series);
  const Columns samples = columns(series);
  for (std::size_t sample = 0; sample < series.samples.size(); ++sample) {
    EXPECT_DOUBLE_EQ(samples.at("time_per_update")[sample], 1e9 / samples.at("updates")[sample]);
    EXPECT_DOUBLE_EQ(samples.at("tries_per_update")[sample], 1) << "nobody else updates";
  }
  EXPECT_NO_THROW(atomics.repetition());
}

TEST(PersistKind, BandwidthFollowsFromTheTimeOfABlockAndEachBlockIsTimedOnce) {
  for (const char* method : {"stores", "nt-drain"}) {
    json made = measurement("persist", {{"cpus", {allowed_cpus().front()}},
                                        {"pattern",
                                         {{"method", method},
                                          {"order", "random"},
                                          {"block_size", 256},
                                          {"size", 1 << 20},
                                          {"pages", "base"}}}});
    if (allowed_cpus().size() > 1) made["cpus"].push_back(allowed_cpus().back());
    Repeated persist(made);
    const Repetition repeated = persist.repetition();
    const SeriesSamples& series = repeated.series.at(0);
    expect_every_third_disturbed(series);
    const Columns samples = columns(series);
    const auto threads = static_cast<double>(made["cpus"].size());
    for (std::size_t sample = 0; sample < series.samples.size(); ++sample) {
      const double bandwidth = samples.at("bandwidth")[sample];
      EXPECT_NEAR(samples.at("time_per_operation")[sample] * bandwidth, 256e9 * threads,
                  1e-6 * 256e9);
    }
    for (const Sample& sample : repeated.series.at(1).samples) {
      ASSERT_EQ(sample.histograms.size(), 1U);
      EXPECT_FALSE(sample.histograms.front().empty());
    }
    EXPECT_NE(repeated.evidence.at("persist").at("operation"), "");
    EXPECT_NO_THROW(persist.repetition());
  }
}

json chain(bool linked, int regions) {
  json operations = {{{"access", "read"}, {"size", 64}},
                     {{"access", "read"}, {"size", 256}, {"region", regions - 1}},
                     {{"access", "write"}, {"size", 64}, {"offset", 64}}};
  json made = measurement("chain", {{"cpus", {allowed_cpus().front()}},
                                    {"pattern",
                                     {{"operations", operations},
                                      {"linked", linked},
                                      {"interleave", 3},
                                      {"sample_every", 5},
                                      {"size", 1 << 20},
                                      {"pages", "base"}}}});
  if (allowed_cpus().size() > 1) made["cpus"].push_back(allowed_cpus().back());
  if (regions > 1) made["placement_second"] = kNodeZero;
  return made;
}

TEST(ChainKind, RatesFollowFromTheTimeOfAChainAndWalksGoOn) {
  for (const bool linked : {true, false}) {
    const json made = chain(linked, linked ? 2 : 1);
    Repeated chains(made);
    const Repetition repeated = chains.repetition();
    const SeriesSamples& series = repeated.series.at(0);
    expect_every_third_disturbed(series);
    const Columns samples = columns(series);
    EXPECT_EQ(samples.contains("latency"), linked);
    const auto walks = static_cast<double>(3 * made["cpus"].size());
    for (std::size_t sample = 0; sample < series.samples.size(); ++sample) {
      const double rate = samples.at("operations")[sample];
      EXPECT_NEAR(samples.at("bandwidth")[sample], rate * (64 + 256 + 64), 1e-6 * rate);
      if (linked) EXPECT_NEAR(samples.at("latency")[sample] * rate, 1e9 * walks, 1e3);
    }
    for (const Sample& sample : repeated.series.at(1).samples) {
      ASSERT_EQ(sample.histograms.size(), 1U);
      EXPECT_FALSE(sample.histograms.front().empty());
    }
    EXPECT_EQ(repeated.evidence.contains("arrays"), linked) << "pages of m0 and m1 apart";
    EXPECT_NO_THROW(chains.repetition());
    EXPECT_NO_THROW(chains.repetition(10 * kSample, true));
  }
}

TEST(ChainKind, LinesThatAnotherHolderOverwroteAreFilledAgain) {
  Repeated chains(chain(true, 2));
  chains.repetition();
  for (const Lease& other : chains.leases(2)) {
    std::fill_n(other.region->data(), other.region->size(), std::byte{7});
  }
  EXPECT_NO_THROW(chains.repetition());
}

TEST(ChainKind, AWordThatWasCorruptedBetweenRepetitionsFailsTheMeasurement) {
  json made = chain(true, 1);
  made["pattern"]["size"] = 4096;
  made["pattern"]["operations"].erase(2);  // A write would put the word right again.
  Repeated chains(made);
  chains.repetition();
  chains.corrupt(4096, 64);
  EXPECT_THROW(chains.repetition(), Failure);
}

// A kind whose threads wait for devices, below a directory of its own.
class StorageKind : public testing::Test {
 protected:
  void SetUp() override {
    if (std::ifstream("/proc/thread-self/schedstat").fail()) GTEST_SKIP() << "nobody can look";
  }

  json measurement(const std::string& kind, const json& more) const {
    json made = {{"id", "a"},
                 {"kind", kind},
                 {"initiator", "node:0"},
                 {"target", "file:" + directory_.path()},
                 {"sampling", {{"sample_s", kSample}}}};
    made.update(more);
    return made;
  }

  // Samples are flagged, and stay: what others do is part of the tail.
  static void expect_kept_and_flagged(const json& measurement) {
    const Repetition repeated = Repeated(measurement).repetition();
    expect_every_third_disturbed(repeated.series.front());
    for (const SeriesSamples& series : repeated.series) {
      EXPECT_TRUE(series.keep_disturbed);
      EXPECT_TRUE(series.watched) << series.name;
    }
  }

  ScratchDirectory directory_;
  const std::vector<int> cpus_{allowed_cpus().front(), allowed_cpus().front(),
                               allowed_cpus().back()};
};

TEST_F(StorageKind, SamplesOfIoAreWatched) {
  json made = measurement(
      "io", {{"jobs",
              {{{"cpus", cpus_},
                {"buffers", {{"placement", kNodeZero}}},
                {"files", {{"directory", directory_.path()}, {"size", 1 << 20}, {"count", 3}}}}}},
             {"pattern", {{"operation", "read"}, {"block_size", 4096}, {"direct", false}}}});
  expect_kept_and_flagged(made);
}

TEST_F(StorageKind, SamplesOfSmallFilesAreWatched) {
  expect_kept_and_flagged(measurement(
      "files", {{"cpus", cpus_},
                {"directory", directory_.path()},
                {"pattern", {{"operation", "stat"}, {"file_size", 100}, {"files", 50}}}}));
}

TEST_F(StorageKind, EachThreadMayUseEachOfItsFilesOnce) {
  for (const char* const operation : {"create", "stat", "unlink"}) {
    const std::vector<int> every = allowed_cpus();
    Repeated files(measurement(
        "files", {{"cpus", every},
                  {"cpu_sets", {every, every}},
                  {"directory", directory_.path()},
                  {"own_ends", true},
                  {"pattern", {{"operation", operation}, {"file_size", 0}, {"files", 50}}}}));
    const Repetition made = files.repetition();
    const Columns samples = columns(made.series.at(0));
    ASSERT_EQ(samples.at("operations").size(), 1);
    const json& seen = made.evidence["small_files"];
    EXPECT_EQ(seen["operations"], 100) << operation;
    ASSERT_EQ(seen["threads"].size(), 2);
    for (const json& thread : seen["threads"]) {
      EXPECT_EQ(thread["operations"], 50);
      EXPECT_GT(thread["worked_s"], 0);
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(StorageKind, SamplesOfCheckpointsAreWatched) {
  expect_kept_and_flagged(measurement(
      "checkpoint",
      {{"cpus", cpus_},
       {"state", {{"placement", kNodeZero}}},
       {"directory", directory_.path()},
       {"pattern",
        {{"size", 1 << 20}, {"block_size", 64 << 10}, {"backend", "posix"}, {"direct", false}}}}));
}

TEST_F(StorageKind, AnEpochReadsEveryBatchOfItsAcceleratorsAndNoMoreTwice) {
  constexpr std::size_t kFiles = 9;
  Repeated training(measurement("training", {{"cpus", cpus_},
                                             {"directory", directory_.path()},
                                             {"pattern",
                                              {{"workload", "tiny"},
                                               {"format", "npz"},
                                               {"files", kFiles},
                                               {"sample_size", 10'000},
                                               {"batch", 2},
                                               {"step_s", 1e-3},
                                               {"accelerators", 2},
                                               {"readers", 2},
                                               {"prefetch", 2}}}}));
  const Repetition made = training.repetition();
  const Columns samples = columns(made.series.at(0));
  EXPECT_GT(samples.at("samples").front(), 0);
  EXPECT_GT(samples.at("utilisation").front(), 0);
  EXPECT_LE(samples.at("utilisation").front(), 1);
  EXPECT_LE(samples.at("reading").front(), 1);
  const json& seen = made.evidence["training"];
  EXPECT_EQ(seen["steps"], kFiles / 4);
  EXPECT_EQ(made.evidence["storage_io"]["bytes_read"], 8 * (10'000 + 512));
  EXPECT_EQ(seen["bytes"], kFiles * (10'000 + 512));
}

TEST_F(StorageKind, RecordsOfAllFilesMakeBatches) {
  Repeated training(measurement("training", {{"cpus", cpus_},
                                             {"directory", directory_.path()},
                                             {"pattern",
                                              {{"workload", "tiny"},
                                               {"format", "tfrecord"},
                                               {"files", 3},
                                               {"file_samples", 5},
                                               {"sample_size", 3000},
                                               {"sample_stdev", 1000},
                                               {"batch", 4},
                                               {"step_s", 1e-3},
                                               {"readers", 2},
                                               {"buffer", 4096}}}}));
  const Repetition made = training.repetition();
  EXPECT_EQ(made.evidence["training"]["steps"], 3);
  const std::uint64_t bytes = made.evidence["training"]["bytes"];
  EXPECT_NEAR(static_cast<double>(bytes), 15 * 3016, 15 * 1000);
  EXPECT_NE(bytes, 15 * 3016U) << "sizes have a deviation";
  EXPECT_LE(made.evidence["storage_io"]["bytes_read"], bytes);
}

TEST_F(StorageKind, RanksWriteTheirFilesAndReadThem) {
  Repeated checkpoint(measurement(
      "model-checkpoint",
      {{"cpus", cpus_},
       {"directory", directory_.path()},
       {"pattern",
        {{"model", "llama3-8b"}, {"ranks", {{{"bytes", {5000, 70'000}}}, {{"bytes", {4096}}}}}}}}));
  for (int repetition = 0; repetition < 2; ++repetition) {
    const Repetition made = checkpoint.repetition();
    EXPECT_GT(columns(made.series.at(0)).at("checkpoint_time").front(), 0);
    EXPECT_GT(columns(made.series.at(1)).at("restart_time").front(), 0);
    const json& seen = made.evidence["rank_files"];
    EXPECT_EQ(seen["files"], 3);
    EXPECT_EQ(seen["bytes"], 79'096);
    const json& asked = made.evidence["storage_io"];
    EXPECT_EQ(asked["bytes_written"], 79'096);
    EXPECT_EQ(asked["bytes_read"], 79'096);
  }
}

TEST(MappingKind, PhasesAddUpToTheWholeInEverySample) {
  constexpr double kPages = 256;
  Repeated mapping(measurement(
      "mapping", {{"cpu", allowed_cpus().front()},
                  {"pattern", {{"size", base_page_bytes() * 256}, {"pages", "base"}}}}));
  const SeriesSamples series = mapping.repetition().series.at(0);
  expect_every_third_disturbed(series);
  const Columns samples = columns(series);
  for (std::size_t sample = 0; sample < series.samples.size(); ++sample) {
    const double whole = samples.at("time_per_page")[sample];
    const double phases = samples.at("map")[sample] / kPages +
                          samples.at("populate_per_page")[sample] +
                          samples.at("unmap_per_page")[sample];
    EXPECT_NEAR(phases, whole, 1e-9 * whole);
  }
}

TEST(MappingKind, PagesThatOneCallPopulatesBelongToTheMapping) {
  Repeated mapping(measurement(
      "mapping",
      {{"cpu", allowed_cpus().front()},
       {"pattern", {{"size", 256 * base_page_bytes()}, {"pages", "base"}, {"populate", "call"}}}}));
  SeriesSamples series;
  try {
    series = mapping.repetition().series.at(0);
  } catch (const Unavailable& error) {
    GTEST_SKIP() << error.what();
  }
  const Columns samples = columns(series);
  EXPECT_EQ(samples.count("populate_per_page"), 0U);
  for (std::size_t sample = 0; sample < series.samples.size(); ++sample) {
    const double whole = samples.at("time_per_page")[sample];
    const double phases = samples.at("map")[sample] / 256 + samples.at("unmap_per_page")[sample];
    EXPECT_NEAR(phases, whole, 1e-9 * whole);
    EXPECT_EQ(series.samples[sample].histograms.size(), 2U);
  }
}

// The pages that the figures are of are those that backed the memory, or there is no figure.
void expect_huge_pages(const char* sharing) {
  std::size_t page = 0;
  try {
    page = page_bytes(Pages::kThp);
  } catch (const Unavailable& error) {
    GTEST_SKIP() << error.what();
  }
  Repeated mapping(measurement(
      "mapping", {{"cpu", allowed_cpus().front()},
                  {"pattern", {{"sharing", sharing}, {"size", 4 * page}, {"pages", "thp"}}}}));
  if (forbidding_switch(sharing == std::string("shared"), page)) {
    try {
      mapping.repetition();
      FAIL() << "measured with pages that the kernel does not give";
    } catch (const Unavailable& error) {
      EXPECT_EQ(error.cause(), Cause::kPages);
      EXPECT_TRUE(error.remedy().starts_with("echo ")) << error.remedy();
    }
    return;
  }
  const Repetition repetition = mapping.repetition();
  EXPECT_EQ(repetition.evidence.at("page_bytes"), page);
  EXPECT_EQ(repetition.evidence.at("huge_bytes"), 4 * page);
  EXPECT_EQ(repetition.evidence.at("pages"), nlohmann::ordered_json::parse(R"({"0": 4})"));
}

TEST(MappingKind, PrivateHugePagesAreProved) { expect_huge_pages("private"); }

TEST(MappingKind, SharedHugePagesAreProvedOrRefused) { expect_huge_pages("shared"); }

}  // namespace
}  // namespace tierscope
