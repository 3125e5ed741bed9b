// Core-to-core latency on this machine's memory, and a line that changes behind the writer's back.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "access/handed_lines.h"
#include "errors.h"
#include "harness/leases.h"
#include "harness/plan.h"
#include "harness/repetition.h"
#include "memory/system_memory.h"
#include "protocol/object_reader.h"
#include "threads/affinity.h"

namespace tierscope {
namespace {

using nlohmann::json;

constexpr std::size_t kSize = 16 << 10;
constexpr std::uint64_t kLines = kSize / kHandedSlot;

json spec(const json& pattern = json::object(), const json& more = json::object()) {
  json made = {{"id", "a"},
               {"kind", "core-latency"},
               {"initiator", "cpus:0"},
               {"target", "node:0"},
               {"placement", {{"policy", "bind"}, {"nodes", {{{"node", 0}}}}}},
               {"sampling", {{"sample_s", 0.001}}},
               {"cpu", allowed_cpus().front()},
               {"writer", allowed_cpus().back()},
               {"pattern", {{"size", kSize}, {"pages", "base"}}}};
  made["pattern"].update(pattern);
  made.update(more);
  return made;
}

std::unique_ptr<State> state_of(const json& made) {
  return parse_plan({{"version", 2}, {"measurements", json::array({made})}}).front().make();
}

std::uint64_t counted(const Repetition& repeated, const char* what) {
  return repeated.evidence.at("handovers").at(what).get<std::uint64_t>();
}

class CoreLatencyTest : public testing::Test {
 protected:
  void SetUp() override {
    if (allowed_cpus().size() < 2) GTEST_SKIP() << "one CPU";
  }

  Repetition take(State& state, double seconds = 0.01) {
    leases_.begin_repetition(false);
    return repetition(state, leases_, seconds, real_surroundings(),
                      [](double, std::size_t, double) {});
  }

  // Where the next repetition will find its lines.
  std::byte* region() {
    leases_.begin_repetition(false);
    const std::vector keys{RegionKey{kSize, Pages::kBase, {Policy::kBind, {{0}}}}};
    Team& team = leases_.team(std::vector{allowed_cpus().front(), allowed_cpus().back()});
    return leases_.regions(keys, team).front().region->data();
  }

 private:
  Leases leases_;
};

TEST_F(CoreLatencyTest, ModifiedLinesAreTimedByTheirLoadsAndByExchanges) {
  const auto state = state_of(spec({{"state", "modified"}}));
  const Repetition first = take(*state);
  ASSERT_EQ(first.series.size(), 2U);
  EXPECT_EQ(first.series[0].columns[0].metric, "latency");
  EXPECT_EQ(first.series[1].columns[0].metric, "exchange_latency");
  for (const SeriesSamples& series : first.series) {
    for (const Sample& sample : series.samples) {
      EXPECT_GT(sample.values.at(0), 0);
      EXPECT_GT(sample.duration_s, 0);
    }
  }
  const std::vector<int> cpus{allowed_cpus().front(), allowed_cpus().back()};
  EXPECT_EQ(first.evidence.at("cpus").get<std::vector<int>>(), cpus);
  EXPECT_EQ(first.evidence.at("pages").dump(), json({{"0", kSize / base_page_bytes()}}).dump());
  EXPECT_EQ(counted(first, "lines"), kLines);
  EXPECT_GT(counted(first, "exchanges"), 0U);
  const Repetition second = take(*state);
  EXPECT_GT(counted(second, "rounds"), counted(first, "rounds"));
}

TEST_F(CoreLatencyTest, CleanLinesHaveNoExchanges) {
  const auto state = state_of(spec({{"state", "clean"}}));
  const Repetition repeated = take(*state);
  ASSERT_EQ(repeated.series.size(), 1U);
  EXPECT_FALSE(repeated.evidence.at("handovers").contains("exchanges"));
  const std::uint64_t rounds = counted(repeated, "rounds");
  EXPECT_EQ(repeated.evidence.at("verified").get<std::string>(),
            std::to_string(rounds * kLines) + " lines of " + std::to_string(rounds) +
                " rounds, each as its writer left it in that round");
}

TEST_F(CoreLatencyTest, ALineThatIsNotAsTheWriterLeftItFails) {
  const auto state = state_of(spec({{"state", "modified"}}));
  auto& stamp = *reinterpret_cast<std::uint64_t*>(region() + sizeof(HandedLine*));
  std::atomic<bool> over{false};
  std::thread other([&] {  // Puts an earlier stamp in place of the writer's, again and again.
    while (!over) std::atomic_ref(stamp).store(0, std::memory_order_relaxed);
  });
  try {
    take(*state, 30);
    ADD_FAILURE() << "nothing was noticed";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.cause(), Cause::kVerification);
    EXPECT_NE(std::string(failure.what()).find("not as the writer had left them"),
              std::string::npos);
  }
  over = true;
  other.join();
}

TEST(CoreLatencySpec, IsCheckedBeforeAnythingIsMeasured) {
  const auto refused = [](const json& made, const std::string& why) {
    try {
      state_of(made);
      ADD_FAILURE() << why;
    } catch (const PlanError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  const json two{{"policy", "interleave"}, {"nodes", {{{"node", 0}}, {{"node", 1}}}}};
  refused(spec(json::object(), {{"cpu", 1}, {"writer", 1}}), "is the CPU that reads");
  refused(spec(json::object(), {{"cpu", 0}, {"writer", 1}, {"placement", two}}), "has to be bind");
  refused(spec({{"size", 320}}, {{"cpu", 0}, {"writer", 1}}), "not a multiple of 256");
  refused(spec({{"state", "dirty"}}, {{"cpu", 0}, {"writer", 1}}), "none of modified, clean");
  EXPECT_NO_THROW(state_of(spec(json::object(), {{"cpu", 0}, {"writer", 1}})));
}

}  // namespace
}  // namespace tierscope
