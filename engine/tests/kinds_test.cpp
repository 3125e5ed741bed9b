// The CPU kinds on this machine's memory, with disturbances in chosen rows: whatever a row's
// figures are, they are all of the same window.
#include <gtest/gtest.h>

#include <algorithm>
#include <any>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "errors.h"
#include "harness/leases.h"
#include "harness/plan.h"
#include "harness/visit.h"
#include "memory/system_memory.h"
#include "protocol/object_reader.h"
#include "sampling/clock.h"
#include "threads/affinity.h"

namespace tierscope {
namespace {

using nlohmann::json;

const json kNodeZero = json::parse(R"({"policy": "bind", "nodes": [{"node": 0}]})");
constexpr double kRow = 0.002;

json measurement(const std::string& kind, const json& more) {
  json made = {{"id", "a"},          {"kind", kind},           {"initiator", "node:0"},
               {"target", "node:0"}, {"placement", kNodeZero}, {"sampling", {{"sample_s", kRow}}}};
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

// A measurement and its visits; the hypervisor takes time in every third row.
class Visited {
 public:
  explicit Visited(const json& spec)
      : state_(parse_plan({{"version", 2}, {"measurements", json::array({spec})}}).front().make()) {
  }

  Visit visit(double seconds = 10 * kRow, bool fresh = false) {
    leases_.begin_visit(fresh);
    int rows = 0;
    const Surroundings surroundings{
        .now = now_seconds,
        .interrupted = [] { return false; },
        .stolen_seconds = [&rows](std::span<const int>) { return rows++ / 3 * 0.01; }};
    return tierscope::visit(*state_, leases_, seconds, surroundings,
                            [](double, std::size_t, double) {});
  }

  // So many regions of a megabyte, as the last visit left them, for another holder.
  std::vector<Lease> leases(std::size_t count) {
    leases_.begin_visit(false);
    const RegionKey key{1 << 20, Pages::kBase, {Policy::kBind, {{0}}}};
    return leases_.regions(std::vector(count, key),
                           leases_.team(std::vector<int>{allowed_cpus().front()}));
  }

  // Changes a bit of the region of so many bytes, and leaves what its contents are said to be.
  void corrupt(std::size_t bytes, std::size_t at) {
    leases_.begin_visit(false);
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

Columns columns(const SeriesRows& series) {
  Columns found;
  for (std::size_t i = 0; i < series.columns.size(); ++i) {
    for (const Row& row : series.rows) {
      found[series.columns[i].metric + series.columns[i].part].push_back(row.values.at(i));
    }
  }
  return found;
}

// Every third row was disturbed, whatever else happened on this machine meanwhile.
void expect_every_third_disturbed(const SeriesRows& series) {
  ASSERT_TRUE(series.disturbed.has_value());
  for (std::size_t row = 2; row < series.rows.size(); row += 3) {
    EXPECT_NE(std::ranges::find(*series.disturbed, row), series.disturbed->end()) << row;
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

TEST(BandwidthKind, ThreadsRatesAddUpToTheTotalInEveryRow) {
  Visited read(bandwidth("read"));
  const SeriesRows series = read.visit().series.at(0);
  expect_every_third_disturbed(series);
  const Columns rows = columns(series);
  for (std::size_t row = 0; row < series.rows.size(); ++row) {
    double sum = 0;
    for (std::size_t thread = 0; thread + 1 < rows.size(); ++thread) {
      sum += rows.at("thread_bandwidth" + std::to_string(thread))[row];
    }
    EXPECT_NEAR(sum, rows.at("bandwidth")[row], 1e-6 * sum);
  }
}

TEST(BandwidthKind, WriteAllocateIsTwiceTheBandwidthOfOrdinaryWritesInEveryRow) {
  Visited write(bandwidth("write", {{"size", 1 << 30}, {"pages", "thp"}}));
  Visit visited;
  try {
    visited = write.visit();
  } catch (const Unavailable& error) {
    GTEST_SKIP() << error.what();
  }
  const Columns rows = columns(visited.series.at(0));
  const auto total = rows.find("bandwidth_with_write_allocate");
  if (total == rows.end()) GTEST_SKIP() << "caches of a gigabyte";
  for (std::size_t row = 0; row < total->second.size(); ++row) {
    EXPECT_DOUBLE_EQ(total->second[row], 2 * rows.at("bandwidth")[row]);
  }
}

TEST(BandwidthKind, LaterVisitsGoOnWithTheSameArrays) {
  for (const char* operation : {"rmw", "triad"}) {
    Visited visited(bandwidth(operation));
    for (int visit = 0; visit < 3; ++visit) EXPECT_NO_THROW(visited.visit()) << visit;
    EXPECT_NO_THROW(visited.visit(10 * kRow, true));
  }
}

TEST(BandwidthKind, DataThatAnotherHolderOverwroteIsFilledAgain) {
  Visited triad(bandwidth("triad"));
  triad.visit();
  for (const Lease& other : triad.leases(3)) {
    EXPECT_FALSE(other.is_new);
    std::fill_n(other.region->data(), other.region->size(), std::byte{7});
  }
  EXPECT_NO_THROW(triad.visit());
}

TEST(BandwidthKind, WrongElementsFailAFurtherVisitToo) {
  Visited copy(bandwidth("copy"));
  copy.visit();
  for (const Lease& other : copy.leases(2)) {
    std::fill_n(other.region->data(), other.region->size(), std::byte{7});
    *other.contents = other.found;  // As if nobody had written.
  }
  try {
    copy.visit();
    FAIL() << "wrong elements were not seen";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.cause(), Cause::kVerification);
  }
}

TEST(BandwidthKind, ThreadsThatShareTheArraysVerifyAllOfThem) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  for (const char* const operation : {"read", "write", "copy", "triad"}) {
    for (const char* const order : {"sequential", "reverse", "random"}) {
      // Not a whole number of what threads fill in turn.
      constexpr std::size_t kSize = (1U << 20) + 4096 + 64;
      Visited shared(
          bandwidth(operation, {{"sharing", "shared"}, {"order", order}, {"size", kSize}}));
      const Visit visit = shared.visit();
      EXPECT_EQ(visit.evidence.at("walked_bytes"), kSize) << operation << ' ' << order;
      if (operation == std::string("read")) continue;
      EXPECT_EQ(visit.evidence.at("verified").get<std::string>().substr(0, 13), "1052736 bytes")
          << visit.evidence.at("verified");
    }
  }
}

TEST(BandwidthKind, UpdatesOfASharedArrayAreRefused) {
  try {
    const Visited refused(bandwidth("rmw", {{"sharing", "shared"}}));
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
  Visited triad(made);
  const auto evidence = triad.visit().evidence;
  const std::size_t pages = (std::size_t{1} << 20) / base_page_bytes();
  for (const char* array : {"a", "b", "c"}) EXPECT_EQ(evidence["arrays"][array]["0"], pages);
  EXPECT_EQ(evidence["pages"]["0"], 3 * pages);
  EXPECT_FALSE(Visited(bandwidth("triad")).visit().evidence.contains("arrays"));
}

TEST(BandwidthKind, SharesHoldWholeRoundsOfAllArrays) {
  json made = bandwidth("copy", {{"size", 7 * base_page_bytes()}});
  made["placement_b"] = {{"policy", "interleave"}, {"nodes", json::array({{{"node", 0}}})}};
  EXPECT_NO_THROW(Visited(made).visit());
}

TEST(BandwidthKind, ThreadsPlaceWhatTheyTouchFirst) {
  json made = bandwidth("copy");
  made["placement"] = {{"policy", "first-touch"}, {"nodes", json::array({{{"node", 0}}})}};
  Visited copy(made);
  EXPECT_TRUE(copy.visit().evidence["pages"].contains("0"));
  EXPECT_NO_THROW(copy.visit(10 * kRow, true));
}

TEST(BandwidthKind, RefusesToPlaceAnArrayThatTheOperationHasNot) {
  json made = bandwidth("copy");
  made["placement_c"] = kNodeZero;
  EXPECT_THROW(Visited{made}, PlanError);
}

TEST(LatencyKind, HasNoFirstTouch) {
  json made = measurement("latency", {{"cpu", allowed_cpus().front()},
                                      {"pattern", {{"size", 1 << 16}, {"pages", "base"}}}});
  EXPECT_NO_THROW(Visited{made});
  made["placement"]["policy"] = "first-touch";
  EXPECT_THROW(Visited{made}, PlanError);
}

TEST(BandwidthKind, FurtherVisitsCompareASample) {
  Visited copy(bandwidth("copy", {{"size", 1 << 24}}));
  const auto verified = [&copy] { return copy.visit().evidence["verified"].get<std::string>(); };
  EXPECT_EQ(verified().find("at random places"), std::string::npos);
  EXPECT_NE(verified().find("of 16777216 bytes compared at random places"), std::string::npos);
  EXPECT_NE(verified().find("(seeds 1 to 2)"), std::string::npos);
}

TEST(LatencyKind, GoesOnWhereTheLastVisitStopped) {
  Visited latency(measurement("latency", {{"cpu", allowed_cpus().front()},
                                          {"pattern", {{"size", 1 << 26}, {"pages", "base"}}}}));
  const auto walked = [](const Visit& visit) {
    return visit.evidence["walked_bytes"].get<std::uint64_t>();
  };
  const Visit first = latency.visit();
  expect_every_third_disturbed(first.series.at(0));
  const Visit second = latency.visit();
  EXPECT_GT(walked(second), walked(first));
  EXPECT_LT(walked(latency.visit(kRow, true)), walked(second)) << "new pages begin anew";
}

// Each visit goes on where the chases stand; all of the cycle is theirs together.
TEST(LatencyKind, SeveralChasesWalkTheWholeRegion) {
  Visited latency(measurement("latency", {{"cpu", allowed_cpus().front()},
                                          {"chases", 12},
                                          {"pattern", {{"size", 1 << 16}, {"pages", "base"}}}}));
  const Visit visited = latency.visit();
  const SeriesRows& loads = visited.series.at(0);
  ASSERT_EQ(loads.columns.size(), 3U);
  for (const Row& row : loads.rows) {
    EXPECT_DOUBLE_EQ(row.values[0], 12 * row.values[1]);
    EXPECT_NEAR(row.values[2] * row.values[1], 64e9, 1);
  }
  EXPECT_EQ(visited.evidence["walked_bytes"], 1 << 16);
}

TEST(LatencyKind, RefusesMoreChasesThanLines) {
  const auto parse = [](int chases) {
    const Visited latency(measurement(
        "latency",
        {{"cpu", allowed_cpus().front()}, {"chases", chases}, {"pattern", {{"size", 512}}}}));
  };
  EXPECT_NO_THROW(parse(8));
  EXPECT_THROW(parse(9), PlanError);
}

TEST(LoadedLatencyKind, HasDisturbedWindowsOfLatencyAndLoadTogether) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  Visited loaded(measurement("loaded-latency", {{"cpu", allowed_cpus().front()},
                                                {"pattern", {{"size", 1 << 20}, {"pages", "base"}}},
                                                {"load", load(50)}}));
  const Visit visited = loaded.visit();
  ASSERT_EQ(visited.series.size(), 2U);
  const SeriesRows& windows = visited.series[0];
  expect_every_third_disturbed(windows);
  EXPECT_EQ(windows.columns[0].metric, "latency");
  EXPECT_EQ(windows.columns[1].metric, "bandwidth");
  for (const Row& row : windows.rows) EXPECT_EQ(row.values.size(), windows.columns.size());
  const SeriesRows& timed = visited.series[1];
  EXPECT_EQ(timed.columns[0].metric, "latency_p50");
  EXPECT_GE(timed.rows.size() - timed.disturbed->size(), timed.rows.size() < 40 ? 20U : 0U);
  EXPECT_TRUE(visited.evidence["workloads"].contains("load"));
}

TEST(LoadedLatencyKind, AnIdleLoadHasNoRate) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  json idle = load(50);
  idle["idle"] = true;
  Visited loaded(measurement("loaded-latency", {{"cpu", allowed_cpus().front()},
                                                {"pattern", {{"size", 1 << 20}, {"pages", "base"}}},
                                                {"load", idle}}));
  const Visit visited = loaded.visit();
  EXPECT_EQ(columns(visited.series[0]).size(), 1U);
  EXPECT_FALSE(visited.evidence.contains("workloads"));
}

TEST(StreamsKind, TotalIsTheSumOfAllStreamsInEveryRow) {
  if (allowed_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  json other = load(100);
  other["name"] = "writer";
  Visited streams(measurement("streams", {{"cpus", {allowed_cpus().front()}},
                                          {"pattern", {{"size", 1 << 20}, {"pages", "base"}}},
                                          {"beside", json::array({other})}}));
  const SeriesRows series = streams.visit().series.at(0);
  expect_every_third_disturbed(series);
  const Columns rows = columns(series);
  for (std::size_t row = 0; row < series.rows.size(); ++row) {
    EXPECT_DOUBLE_EQ(rows.at("total_bandwidth")[row],
                     rows.at("bandwidth")[row] + rows.at("bandwidthwriter")[row]);
  }
  EXPECT_NO_THROW(streams.visit());
}

TEST(AtomicsKind, EachRowHasItsOwnTriesAndTimeForAnUpdate) {
  Visited atomics(measurement(
      "atomics",
      {{"cpus", {allowed_cpus().front()}},
       {"pattern", {{"operation", "compare-and-swap"}, {"size", 4096}, {"pages", "base"}}}}));
  const SeriesRows series = atomics.visit().series.at(0);
  expect_every_third_disturbed(series);
  const Columns rows = columns(series);
  for (std::size_t row = 0; row < series.rows.size(); ++row) {
    EXPECT_DOUBLE_EQ(rows.at("time_per_update")[row], 1e9 / rows.at("updates")[row]);
    EXPECT_DOUBLE_EQ(rows.at("tries_per_update")[row], 1) << "nobody else updates";
  }
  EXPECT_NO_THROW(atomics.visit());
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
    Visited persist(made);
    const Visit visited = persist.visit();
    const SeriesRows& series = visited.series.at(0);
    expect_every_third_disturbed(series);
    const Columns rows = columns(series);
    const auto threads = static_cast<double>(made["cpus"].size());
    for (std::size_t row = 0; row < series.rows.size(); ++row) {
      const double bandwidth = rows.at("bandwidth")[row];
      EXPECT_NEAR(rows.at("time_per_operation")[row] * bandwidth, 256e9 * threads, 1e-6 * 256e9);
    }
    for (const Row& row : visited.series.at(1).rows) {
      ASSERT_EQ(row.histograms.size(), 1U);
      EXPECT_FALSE(row.histograms.front().empty());
    }
    EXPECT_NE(visited.evidence.at("persist").at("operation"), "");
    EXPECT_NO_THROW(persist.visit());
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
    Visited chains(made);
    const Visit visited = chains.visit();
    const SeriesRows& series = visited.series.at(0);
    expect_every_third_disturbed(series);
    const Columns rows = columns(series);
    EXPECT_EQ(rows.contains("latency"), linked);
    const auto walks = static_cast<double>(3 * made["cpus"].size());
    for (std::size_t row = 0; row < series.rows.size(); ++row) {
      const double rate = rows.at("operations")[row];
      EXPECT_NEAR(rows.at("bandwidth")[row], rate * (64 + 256 + 64), 1e-6 * rate);
      if (linked) EXPECT_NEAR(rows.at("latency")[row] * rate, 1e9 * walks, 1e3);
    }
    for (const Row& row : visited.series.at(1).rows) {
      ASSERT_EQ(row.histograms.size(), 1U);
      EXPECT_FALSE(row.histograms.front().empty());
    }
    EXPECT_EQ(visited.evidence.contains("arrays"), linked) << "pages of m0 and m1 apart";
    EXPECT_NO_THROW(chains.visit());
    EXPECT_NO_THROW(chains.visit(10 * kRow, true));
  }
}

TEST(ChainKind, LinesThatAnotherHolderOverwroteAreFilledAgain) {
  Visited chains(chain(true, 2));
  chains.visit();
  for (const Lease& other : chains.leases(2)) {
    std::fill_n(other.region->data(), other.region->size(), std::byte{7});
  }
  EXPECT_NO_THROW(chains.visit());
}

TEST(ChainKind, AWordThatWasCorruptedBetweenVisitsFailsTheMeasurement) {
  json made = chain(true, 1);
  made["pattern"]["size"] = 4096;
  made["pattern"]["operations"].erase(2);  // A write would put the word right again.
  Visited chains(made);
  chains.visit();
  chains.corrupt(4096, 64);
  EXPECT_THROW(chains.visit(), Failure);
}

TEST(MappingKind, PhasesAddUpToTheWholeInEveryRow) {
  constexpr double kPages = 256;
  Visited mapping(measurement(
      "mapping", {{"cpu", allowed_cpus().front()},
                  {"pattern", {{"size", base_page_bytes() * 256}, {"pages", "base"}}}}));
  const SeriesRows series = mapping.visit().series.at(0);
  expect_every_third_disturbed(series);
  const Columns rows = columns(series);
  for (std::size_t row = 0; row < series.rows.size(); ++row) {
    const double whole = rows.at("time_per_page")[row];
    const double phases = rows.at("map")[row] / kPages + rows.at("populate_per_page")[row] +
                          rows.at("unmap_per_page")[row];
    EXPECT_NEAR(phases, whole, 1e-9 * whole);
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
  Visited mapping(measurement(
      "mapping", {{"cpu", allowed_cpus().front()},
                  {"pattern", {{"sharing", sharing}, {"size", 4 * page}, {"pages", "thp"}}}}));
  if (forbidding_switch(sharing == std::string("shared"), page)) {
    try {
      mapping.visit();
      FAIL() << "measured with pages that the kernel does not give";
    } catch (const Unavailable& error) {
      EXPECT_EQ(error.cause(), Cause::kPages);
      EXPECT_TRUE(error.remedy().starts_with("echo ")) << error.remedy();
    }
    return;
  }
  const Visit visit = mapping.visit();
  EXPECT_EQ(visit.evidence.at("page_bytes"), page);
  EXPECT_EQ(visit.evidence.at("huge_bytes"), 4 * page);
  EXPECT_EQ(visit.evidence.at("pages"), nlohmann::ordered_json::parse(R"({"0": 4})"));
}

TEST(MappingKind, PrivateHugePagesAreProved) { expect_huge_pages("private"); }

TEST(MappingKind, SharedHugePagesAreProvedOrRefused) { expect_huge_pages("shared"); }

}  // namespace
}  // namespace tierscope
