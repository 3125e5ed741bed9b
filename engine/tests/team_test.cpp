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

}  // namespace
}  // namespace tierscope
