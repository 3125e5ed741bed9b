// Batches that readers hand to an emulated accelerator.
#include "kinds/training_feed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tierscope {
namespace {

TEST(Feed, BatchesAreTakenInTheirOrderWhateverCameFirst) {
  Feed feed({.units = 3, .batches = true, .batch = 2, .ahead = 2});
  EXPECT_EQ(feed.claim(), 0U);
  EXPECT_EQ(feed.claim(), 1U);
  EXPECT_TRUE(feed.deliver(1));
  std::atomic<bool> taken{false};
  std::thread accelerator([&] { taken = feed.take(); });
  EXPECT_FALSE(taken) << "the first batch is not there";
  EXPECT_TRUE(feed.deliver(0));
  accelerator.join();
  EXPECT_TRUE(taken);
  EXPECT_TRUE(feed.take());
  EXPECT_EQ(feed.claim(), 2U);
  EXPECT_EQ(feed.claim(), std::nullopt);
}

TEST(Feed, ReadersAreNoMoreThanSoManyBatchesAhead) {
  Feed feed({.units = 10, .batches = true, .batch = 1, .ahead = 2});
  EXPECT_EQ(feed.claim(), 0U);
  EXPECT_EQ(feed.claim(), 1U);
  std::atomic<bool> claimed{false};
  std::thread reader([&] {
    EXPECT_EQ(feed.claim(), 2U);
    claimed = true;
  });
  feed.deliver(0);
  EXPECT_FALSE(claimed) << "what was read and not taken counts";
  EXPECT_TRUE(feed.take());
  reader.join();
  EXPECT_TRUE(claimed);
}

TEST(Feed, SamplesOfAnyFilesMakeABatch) {
  Feed feed({.units = 2, .batches = false, .batch = 3, .ahead = 1});
  EXPECT_EQ(feed.claim(), 0U);
  EXPECT_EQ(feed.claim(), 1U);
  EXPECT_EQ(feed.claim(), std::nullopt);
  for (const std::size_t file : {0, 1, 0}) EXPECT_TRUE(feed.deliver(file));
  std::atomic<bool> delivered{false};
  std::thread reader([&] { delivered = feed.deliver(1); });
  EXPECT_TRUE(feed.take());
  reader.join();
  EXPECT_TRUE(delivered) << "there is room for the next batch";
}

TEST(Feed, NobodyWaitsOnceItIsClosed) {
  Feed feed({.units = 2, .batches = false, .batch = 1, .ahead = 1});
  EXPECT_TRUE(feed.deliver(0));
  std::thread reader([&] { EXPECT_FALSE(feed.deliver(1)); });
  feed.close();
  reader.join();
  EXPECT_FALSE(feed.take());
  EXPECT_EQ(feed.claim(), std::nullopt);
}

TEST(StepGate, AcceleratorsBeginEachStepTogether) {
  constexpr int kSteps = 50;
  StepGate gate(3);
  std::atomic<int> begun{0};
  std::vector<std::thread> accelerators;
  for (int i = 0; i < 3; ++i) {
    accelerators.emplace_back([&] {
      for (int step = 0; step < kSteps; ++step) {
        ++begun;
        EXPECT_TRUE(gate.pass());
        EXPECT_GE(begun, 3 * (step + 1)) << "one passed before all had come";
      }
    });
  }
  for (std::thread& one : accelerators) one.join();
}

TEST(StepGate, WhoWaitsGoesOnWhenAnotherEnds) {
  StepGate gate(2);
  std::thread waits([&] { EXPECT_FALSE(gate.pass()); });
  gate.close();
  waits.join();
}

}  // namespace
}  // namespace tierscope
