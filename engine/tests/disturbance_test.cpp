// What a thread loses to others. The others' work is measured by their own CPU time, so nothing
// here depends on how long anything takes or on what else this machine does.
#include "threads/disturbance.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "competitor.h"
#include "sampling/clock.h"
#include "threads/affinity.h"

namespace tierscope {
namespace {

class RunQueueDelayTest : public testing::Test {
 protected:
  void SetUp() override {
    if (watched_cpus(alone_).empty()) GTEST_SKIP() << "the kernel does not count";
  }

  const int cpu_ = allowed_cpus().front();
  Team alone_{std::vector{cpu_}};
  Team taking_turns_{std::vector{cpu_, cpu_}};
};

TEST_F(RunQueueDelayTest, SleepIsNotLost) {
  alone_.run([&](int thread) {
    const double begin = now_seconds();
    std::optional<RunQueueDelay> queue = watch_run_queue(alone_, thread);
    ASSERT_TRUE(queue);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const double lost = queue->lost_s();
    EXPECT_LE(lost, now_seconds() - begin - 0.049);
  });
}

TEST_F(RunQueueDelayTest, WhatAnotherThreadUsesOfTheCpuIsLost) {
  Competitor other(cpu_);
  alone_.run([&](int thread) {
    std::optional<RunQueueDelay> queue = watch_run_queue(alone_, thread);
    other.start();
    while (!other.done()) {
    }
    EXPECT_GE(queue->lost_s(), Competitor::kUses / 2);
  });
}

TEST_F(RunQueueDelayTest, TimeCountsOnce) {
  Competitor other(cpu_);
  alone_.run([&](int thread) {
    std::optional<RunQueueDelay> queue = watch_run_queue(alone_, thread);
    other.start();
    while (!other.done()) {
    }
    queue->lost_s();
    const double begin = now_seconds();
    const double lost = queue->lost_s();
    EXPECT_LE(lost, now_seconds() - begin + 0.001);
  });
}

TEST_F(RunQueueDelayTest, TakingTurnsLosesNothingToOthers) {
  std::atomic<bool> begun{false};
  std::atomic<bool> done{false};
  taking_turns_.run([&](int thread) {
    std::optional<RunQueueDelay> queue = watch_run_queue(taking_turns_, thread);
    EXPECT_EQ(queue.has_value(), thread == 0) << "one watches for all";
    if (thread == 1) {
      begun.wait(false);
      use_cpu(Competitor::kUses);
      done = true;
      return;
    }
    RunQueueDelay whole;
    queue->lost_s();
    begun = true;
    begun.notify_one();
    while (!done) {
    }
    const double lost = queue->lost_s();
    EXPECT_LE(lost, whole.lost_s() - Competitor::kUses / 2);
  });
}

TEST_F(RunQueueDelayTest, ACpuThatThreadsShareIsWatchedOnce) {
  EXPECT_EQ(watched_cpus(taking_turns_), std::vector{cpu_});
}

}  // namespace
}  // namespace tierscope
