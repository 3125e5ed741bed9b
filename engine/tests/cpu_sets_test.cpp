#include "threads/cpu_sets.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tierscope {
namespace {

TEST(CpuSets, OfCpusHaveOneEach) {
  constexpr std::array kCpus{7, 3};
  EXPECT_EQ(one_each(kCpus), (CpuSets{{7}, {3}}));
  EXPECT_EQ(all_cpus({{7, 1}, {3, 1}}), (std::vector{1, 3, 7}));
}

TEST(CpuSets, TellWhichThreadsHaveACpuOfTheirOwn) {
  EXPECT_EQ(has_own_cpu({{0}, {1}}), (std::vector{true, true}));
  EXPECT_EQ(has_own_cpu({{0}, {1, 2}, {3}, {3}}), (std::vector{true, false, false, false}));
  EXPECT_EQ(has_own_cpu({{0}, {0, 1}}), (std::vector{false, false}));
}

TEST(CpuSets, TellHowManyThreadsRunAtOnce) {
  EXPECT_EQ(most_at_once({}), 0);
  EXPECT_EQ(most_at_once({{0}, {1}, {2}}), 3);
  EXPECT_EQ(most_at_once({{0}, {0}, {1}}), 2);
  EXPECT_EQ(most_at_once(CpuSets(5, {0, 1})), 2);
  EXPECT_EQ(most_at_once(CpuSets(3, {0, 1, 2, 3})), 3);
  // The first two threads have to leave CPU 0 to the last one, and thread 0 CPU 1 to thread 1.
  EXPECT_EQ(most_at_once({{0, 1, 2}, {0, 1}, {0}}), 3);
  EXPECT_EQ(most_at_once({{0, 1}, {0, 1}, {0, 1}, {2, 3, 4}}), 3);
  EXPECT_EQ(threads_per_cpu(CpuSets(5, {0, 1})), 3);
  EXPECT_EQ(threads_per_cpu({{0}, {1}}), 1);
}

TEST(CpuSets, AreCountedFastForTheLargestMachines) {
  std::vector<int> all;
  for (int cpu = 0; cpu < 1024; ++cpu) all.push_back(cpu);
  EXPECT_EQ(most_at_once(CpuSets(2048, all)), 1024);
}

}  // namespace
}  // namespace tierscope
