// Windows of work: what counts, and how often the clock is read.
#include "threads/window.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
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

}  // namespace
}  // namespace tierscope
