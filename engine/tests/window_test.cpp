// Windows of work: what counts, and how often the clock is read.
#include "threads/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace tierscope {
namespace {

constexpr double kWindow = 0.005;
constexpr std::array<int, 1> kCpu{0};

// Counts its units and its calls; the first calls stall, as if a neighbour had taken the CPU.
struct Counter {
  std::uint64_t units = 0;
  std::uint64_t calls = 0;
  std::uint64_t stalls = 0;

  Worker worker() {
    return {.work = [this](std::uint64_t asked) {
      if (++calls <= stalls) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      for (std::uint64_t i = 0; i < asked; ++i) {
        units = units + 1;
        asm volatile("" ::: "memory");
      }
    }};
  }
};

// A stall is no reason to read the clock after each unit ever after.
TEST(Window, ChunksGrowAlthoughTheFirstOnesWereDisturbed) {
  for (const std::uint64_t stalls : {0U, 1U, 3U}) {
    Team team(kCpu);
    Counter counter{.stalls = stalls};
    std::vector<Worker> workers{counter.worker()};
    size_chunks(team, workers, kWindow);
    // On a busy machine a window may pass while the thread waits for its CPU.
    for (int window = 0; window < 100 && workers[0].chunk <= 100; ++window) {
      work_for(team, workers, kWindow);
    }
    EXPECT_GT(workers[0].chunk, 100) << stalls << " stalls";
  }
}

TEST(Window, CountsWholeChunksAndTheLastOnesShare) {
  Team team(kCpu);
  Counter counter;
  std::vector<Worker> workers{counter.worker()};
  for (int window = 0; window < 5; ++window) {
    const std::uint64_t before = counter.units;
    const std::uint64_t chunk = workers[0].chunk;
    work_for(team, workers, kWindow);
    const auto worked = static_cast<double>(counter.units - before);
    EXPECT_LE(workers[0].units_in_window, worked);
    EXPECT_GE(workers[0].units_in_window, worked - static_cast<double>(chunk));
  }
  EXPECT_EQ(workers[0].done, counter.units);
}

// Four threads of one CPU: each counts its own units and none twice, and all of them together use
// the time that the CPU has.
TEST(Window, OfThreadsThatShareACpuCountsWhatEachDidWithin) {
  constexpr std::size_t kThreads = 4;
  constexpr double kLong = 0.05;
  Team team(CpuSets(kThreads, {kCpu.front()}));
  std::array<Counter, kThreads> counters;
  std::vector<Worker> workers;
  for (Counter& counter : counters) workers.push_back(counter.worker());
  size_chunks(team, workers, kLong);
  std::array<std::uint64_t, kThreads> before{};
  for (std::size_t i = 0; i < kThreads; ++i) before.at(i) = counters.at(i).units;
  work_for(team, workers, kLong);
  double used = 0;
  for (std::size_t i = 0; i < kThreads; ++i) {
    const auto worked = static_cast<double>(counters.at(i).units - before.at(i));
    EXPECT_LE(workers[i].units_in_window, worked);
    EXPECT_EQ(workers[i].done, counters.at(i).units);
    EXPECT_EQ(workers[i].seen_on, std::set<int>{kCpu.front()});
    EXPECT_EQ(workers[i].lost_share, workers.front().lost_share) << "of all of them together";
    used += workers[i].used_s;
  }
  EXPECT_NEAR(max_lost_share(workers), std::max(0.0, 1 - used / kLong), 1e-12);
  EXPECT_LT(max_lost_share(workers), 1);
}

TEST(Window, OfThreadsWithCpusOfTheirOwnNotesNoOtherCpus) {
  Team team(kCpu);
  Counter counter;
  std::vector<Worker> workers{counter.worker()};
  work_for(team, workers, kWindow);
  EXPECT_TRUE(workers[0].seen_on.empty());
}

}  // namespace
}  // namespace tierscope
