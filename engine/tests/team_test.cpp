#include "threads/team.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "errors.h"
#include "sampling/clock.h"
#include "threads/affinity.h"

namespace tierscope {
namespace {

TEST(Team, RunsEachThreadOnItsCpu) {
  Team team(allowed_cpus());
  std::vector<int> seen(allowed_cpus().size());
  team.run([&](int thread) { seen[static_cast<std::size_t>(thread)] = sched_getcpu(); });
  EXPECT_EQ(seen, allowed_cpus());
}

TEST(Team, GivesAllThreadsTheSameStartAtEveryGate) {
  Team team(allowed_cpus());
  std::vector<double> starts(allowed_cpus().size());
  double before = now_seconds();
  for (int round = 0; round < 100; ++round) {
    team.run([&](int thread) {
      team.pass_gate();
      starts[static_cast<std::size_t>(thread)] = team.pass_gate();
    });
    EXPECT_GT(starts.front(), before);
    EXPECT_EQ(starts, std::vector<double>(starts.size(), starts.front()));
    before = starts.front();
  }
}

TEST(Team, PassesOnWhatAThreadThrows) {
  Team team(allowed_cpus());
  EXPECT_THROW(team.run([](int thread) {
    if (thread == 0) throw std::runtime_error("thread 0");
  }),
               std::runtime_error);
  std::atomic<int> ran = 0;
  team.run([&](int) { ++ran; });
  EXPECT_EQ(ran, team.size());
}

TEST(Team, RefusesACpuThatIsNotThere) {
  const std::vector<int> cpus{65535};
  EXPECT_THROW(Team{cpus}, Unavailable);
}

// The kernel itself would leave the missing one out.
TEST(Team, RefusesASetWithACpuThatIsNotThere) {
  std::vector<int> cpus = allowed_cpus();
  cpus.push_back(65535);
  EXPECT_THROW(Team(CpuSets{cpus, cpus}), Unavailable);
  EXPECT_THROW(Team(CpuSets{{65534, 65535}}), Unavailable);
}

TEST(Team, KnowsWhichThreadsShareCpus) {
  const int first = allowed_cpus().front();
  EXPECT_FALSE(Team(allowed_cpus()).shares_cpus());
  const Team team(CpuSets(3, {first}));
  EXPECT_TRUE(team.shares_cpus());
  EXPECT_EQ(team.shared().at_once, 1);
  EXPECT_EQ(team.shared().threads, std::vector<bool>(3, true));
}

TEST(Team, OfMoreThreadsThanCpusPassesItsGates) {
  const std::size_t threads = 4 * allowed_cpus().size();
  Team team(CpuSets(threads, allowed_cpus()));
  std::vector<double> starts(threads);
  double before = now_seconds();
  for (int round = 0; round < 50; ++round) {
    team.run([&](int thread) {
      team.pass_gate();
      starts[static_cast<std::size_t>(thread)] = team.pass_gate();
      EXPECT_GE(now_seconds(), starts[static_cast<std::size_t>(thread)]);
    });
    EXPECT_GT(starts.front(), before);
    EXPECT_EQ(starts, std::vector<double>(starts.size(), starts.front()));
    before = starts.front();
  }
}

TEST(Team, KeepsThreadsOnTheirSets) {
  const int first = allowed_cpus().front();
  Team team(CpuSets(3, {first}));
  std::vector<int> seen(3);
  team.run([&](int thread) {
    team.pass_gate();
    seen[static_cast<std::size_t>(thread)] = sched_getcpu();
  });
  EXPECT_EQ(seen, std::vector<int>(3, first));
}

}  // namespace
}  // namespace tierscope
