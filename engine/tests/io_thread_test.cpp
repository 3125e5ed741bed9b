#include "storage/io_thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <numeric>
#include <thread>

#include "competitor.h"
#include "errors.h"
#include "sampling/clock.h"
#include "threads/affinity.h"

namespace tierscope {
namespace {

// Ends operations in the order in which they came, one for each call, as it is told to.
class FakeBackend : public Backend {
 public:
  explicit FakeBackend(const ThreadIo& io) : Backend(io) {}

  void submit(std::span<const IoRequest> requests) override {
    for (const IoRequest& request : requests) waiting.push_back(request);
    deepest = std::max(deepest, waiting.size());
  }

  std::size_t reap(std::span<Completion> done, std::size_t least, double timeout_s) override {
    if (waiting.empty()) {
      EXPECT_EQ(least, 0) << "waits for operations of which there are none";
      return 0;
    }
    if (delay_s > timeout_s) return 0;
    const double until = now_seconds() + delay_s;
    while (now_seconds() < until) {
    }
    const IoRequest request = waiting.front();
    waiting.pop_front();
    done[0] = {.slot = request.slot, .result = result_of(request)};
    return 1;
  }

  void sync(int, bool data_only) override { ++(data_only ? fdatasyncs : fsyncs); }

  static std::int64_t result_of(const IoRequest& request) {
    return ++ended == fails_at ? error : std::int64_t{request.bytes};
  }

  std::deque<IoRequest> waiting;
  static inline std::size_t deepest = 0;
  static inline std::atomic<int> ended = 0;
  static inline int fails_at = 0;
  static inline std::int64_t error = 0;
  static inline double delay_s = 0;
  static inline int fsyncs = 0;
  static inline int fdatasyncs = 0;
};

const BackendKind kFake{.name = "fake",
                        .synchronous = false,
                        .gpu = false,
                        .make = [](const ThreadIo& io) -> std::unique_ptr<Backend> {
                          return std::make_unique<FakeBackend>(io);
                        }};

class IoThreadTest : public testing::Test {
 protected:
  IoThreadTest() {
    FakeBackend::deepest = 0;
    FakeBackend::ended = 0;
    FakeBackend::fails_at = 0;
    FakeBackend::delay_s = 0;
    FakeBackend::fsyncs = 0;
    FakeBackend::fdatasyncs = 0;
    pattern_.blocks = {{4096, 1}};
    pattern_.align = 4096;
    pattern_.seed = 1;
    rule_ = {.backend = &kFake, .depth = 4, .batch = 4, .amount = 4096 * 100};
  }

  IoThread& make() {
    thread_ = std::make_unique<IoThread>(
        pattern_, rule_, RequestStream(pattern_, {{.file = 0, .first = 0, .last = 1 << 20}}, 0, 0),
        names_, BlockHooks{}, 1, company_);
    thread_->prepare({});
    return *thread_;
  }

  Tally& run() {
    IoThread& thread = make();
    thread.run(stop_, sample_);
    return thread.tally(0);
  }

  IoPattern pattern_{};
  IoRule rule_{};
  IoCompany company_;
  std::vector<std::string> names_{"/data/file"};
  std::unique_ptr<IoThread> thread_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> sample_{0};
};

TEST_F(IoThreadTest, KeepsTheDepthInFlightAndMovesTheAmount) {
  const Tally& tally = run();
  EXPECT_EQ(tally.reads, 100);
  EXPECT_EQ(tally.bytes_read, 409600);
  EXPECT_EQ(tally.of_reads.latency.count(), 100);
  EXPECT_EQ(tally.of_reads.submission.count(), 100);
  EXPECT_EQ(tally.of_reads.completion.count(), 100);
  EXPECT_EQ(FakeBackend::deepest, 4);
}

TEST_F(IoThreadTest, BatchesLimitWhatOneCallSubmits) {
  rule_.batch = 1;
  run();
  EXPECT_EQ(FakeBackend::deepest, 4);
}

TEST_F(IoThreadTest, AMixUsesSeparateSlotsForWrites) {
  pattern_.operation = IoOperation::kMix;
  pattern_.read_percent = 50;
  const Tally& tally = run();
  EXPECT_EQ(tally.reads + tally.writes, 100);
  EXPECT_GT(tally.writes, 20);
  EXPECT_EQ(tally.of_reads.latency.count(), tally.reads);
  EXPECT_EQ(tally.of_reads.submission.count(), tally.reads);
  EXPECT_EQ(tally.of_writes.latency.count(), tally.writes);
  EXPECT_EQ(tally.of_writes.completion.count(), tally.writes);
  const std::span<const IoRequest> last = thread_->last_requests();
  ASSERT_EQ(last.size(), 8);
  for (std::size_t slot = 0; slot < 8; ++slot) {
    if (thread_->used()[slot]) EXPECT_EQ(last[slot].write, slot >= 4);
  }
}

TEST_F(IoThreadTest, SyncsAfterEachSoManyWritesAndAtTheEnd) {
  pattern_.operation = IoOperation::kWrite;
  rule_.fsync = 10;
  rule_.fdatasync = 25;
  rule_.end_fsync = true;
  const Tally& tally = run();
  EXPECT_EQ(FakeBackend::fsyncs, 11);
  EXPECT_EQ(FakeBackend::fdatasyncs, 4);
  EXPECT_EQ(tally.sync.count(), 15);
}

TEST_F(IoThreadTest, ErrorsNameTheFileAndTheOffset) {
  FakeBackend::fails_at = 3;
  FakeBackend::error = -EIO;
  try {
    run();
    FAIL() << "no error";
  } catch (const Failure& error) {
    EXPECT_STREQ(error.what(),
                 "read of 4096 bytes at offset 8192 of /data/file: Input/output error");
    EXPECT_EQ(error.cause(), Cause::kStorage);
  }
}

TEST_F(IoThreadTest, ShortReadsAreErrors) {
  FakeBackend::fails_at = 1;
  FakeBackend::error = 512;
  EXPECT_THROW(run(), Failure);
}

TEST_F(IoThreadTest, MisalignedDirectAccessIsUnavailable) {
  FakeBackend::fails_at = 1;
  FakeBackend::error = -EINVAL;
  EXPECT_THROW(run(), Unavailable);
}

TEST_F(IoThreadTest, WhatTheFileSystemCannotDoIsUnavailable) {
  FakeBackend::fails_at = 1;
  FakeBackend::error = -EOPNOTSUPP;
  EXPECT_THROW(run(), Unavailable);
}

TEST_F(IoThreadTest, SomeOperationsHaveAPriorityOfTheirOwnAndTimesByIt) {
  constexpr IoPriority kIdle = io_priority(3, 0);
  constexpr IoPriority kLow = io_priority(2, 7);
  rule_.amount = 4096 * 1000;
  rule_.command_priorities = {{.write = true, .bytes = 0, .percent = 100, .priority = kLow},
                              {.write = false, .bytes = 512, .percent = 100, .priority = kLow},
                              {.write = false, .bytes = 4096, .percent = 30, .priority = kIdle}};
  const Tally& tally = run();
  EXPECT_EQ(rule_.priorities(), (std::vector<IoPriority>{0, kLow, kIdle}));
  ASSERT_EQ(tally.by_priority.size(), 3);
  const std::uint64_t idle = tally.by_priority[2].reads.count();
  EXPECT_EQ(tally.by_priority[0].reads.count() + idle, 1000);
  EXPECT_EQ(tally.by_priority[1].reads.count(), 0);
  EXPECT_GT(idle, 200);
  EXPECT_LT(idle, 400);
}

TEST_F(IoThreadTest, APriorityThatTheKernelRefusesIsUnavailable) {
  FakeBackend::fails_at = 1;
  FakeBackend::error = -EPERM;
  EXPECT_THROW(run(), Failure) << "of an operation without one";
  FakeBackend::ended = 0;
  rule_.command_priorities = {{.write = false, .percent = 100, .priority = io_priority(1, 0)}};
  EXPECT_THROW(run(), Unavailable);
}

TEST_F(IoThreadTest, AnOpenLoopCountsLatencyFromWhenAnOperationWasDue) {
  rule_.rate = 10000;  // One each 100 us, of which each takes 1 ms: the last of 100 waits for long.
  rule_.depth = 1;
  rule_.batch = 1;
  FakeBackend::delay_s = 1e-3;
  const Tally& tally = run();
  std::uint64_t above = 0;
  tally.of_reads.latency.for_each([&](std::size_t bucket, std::uint64_t count) {
    if (bucket > Histogram::bucket_of(45'000'000)) above += count;
  });
  EXPECT_GE(above, 40);
}

TEST_F(IoThreadTest, AnOpenLoopIsNeverAheadOfItsRate) {
  rule_.rate = 10000;
  const Tally& tally = run();
  EXPECT_GE(thread_->finished_ns() - tally.start_ns, 10'000'000);  // When the last of 100 was due.
  EXPECT_EQ(tally.of_reads.latency.count(), 100);
}

TEST_F(IoThreadTest, SamplesFollowEachOtherWithoutAPause) {
  rule_.amount = 0;
  FakeBackend::delay_s = 1e-4;
  IoThread& thread = make();
  std::thread worker([&] { thread.run(stop_, sample_); });
  const auto wait_for = [&](std::uint64_t sample) {
    while (thread.sample() < sample) std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  std::int64_t end = 0;
  for (std::uint64_t sample = 0; sample < 5; ++sample) {
    const int before = FakeBackend::ended;
    while (FakeBackend::ended < before + 3)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    sample_.store(sample + 1);
    wait_for(sample + 1);
    const Tally& tally = thread.tally(sample);
    if (sample > 0) EXPECT_EQ(tally.start_ns, end);
    end = tally.end_ns;
    EXPECT_EQ(tally.of_reads.latency.count(), tally.reads);
    EXPECT_GT(tally.reads, 0);
  }
  stop_.store(true);
  worker.join();
}

TEST_F(IoThreadTest, ARowHasWhatOthersTookOfTheCpu) {
  rule_.amount = 0;
  FakeBackend::delay_s = 1e-4;
  const int cpu = allowed_cpus().front();
  Team team(std::vector{cpu});
  if (watched_cpus(team).empty()) GTEST_SKIP() << "the kernel does not count";
  IoThread& thread = make();
  Competitor other(cpu);
  std::thread starter([&] {
    while (FakeBackend::ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    other.start();
    while (!other.done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop_.store(true);
  });
  team.run([&](int number) {
    std::optional<RunQueueDelay> queue = watch_run_queue(team, number);
    thread.run(stop_, sample_, &*queue);
  });
  starter.join();
  EXPECT_GE(thread.tally(0).lost_s, Competitor::kUses / 2);
}

TEST_F(IoThreadTest, NothingIsLostWhereNobodyWatches) { EXPECT_EQ(run().lost_s, 0); }

TEST_F(IoThreadTest, AThreadEndsByItsOwnTimeAfterItsDelay) {
  rule_.amount = 0;
  rule_.delay_s = 0.02;
  rule_.time_limit_s = 0.03;
  FakeBackend::delay_s = 1e-4;
  const std::int64_t before = now_ns();
  const Tally& tally = run();
  EXPECT_GT(tally.reads, 0);
  EXPECT_GE(thread_->finished_ns() - before, 50'000'000);
  EXPECT_GE(thread_->worked_s(), 0.03);
  EXPECT_EQ(tally.end_ns, thread_->finished_ns());
  EXPECT_GE(tally.start_ns - before, 20'000'000) << "the delay is in no sample";
}

TEST_F(IoThreadTest, ASampleAfterItsEndIsEmpty) {
  run();
  EXPECT_EQ(thread_->tally(0).reads, 100);
  EXPECT_EQ(thread_->tally(1).reads, 0);
  EXPECT_EQ(thread_->tally(2).end_ns, 0);
}

TEST_F(IoThreadTest, APauseFollowsSoManyOperationsOnceAllHaveEnded) {
  rule_.think_every = 10;
  rule_.think_s = 0.002;
  const Tally& tally = run();
  EXPECT_EQ(tally.reads, 100);
  EXPECT_GE(thread_->finished_ns() - tally.start_ns, 9 * 2'000'000);  // None after the last ones.
}

TEST_F(IoThreadTest, ReadsAndWritesOfAMixHaveTheirOwnRates) {
  pattern_.operation = IoOperation::kMix;
  pattern_.read_percent = 50;
  rule_.rate = 10000;
  rule_.write_rate = 2500;
  const Tally& tally = run();
  EXPECT_NEAR(static_cast<double>(tally.writes), 25, 1);
  EXPECT_EQ(tally.reads + tally.writes, 100);
}

TEST_F(IoThreadTest, ItEndsWithItsGroupAndEndsItsGroup) {
  std::atomic<bool> group{false};
  company_ = {.group_ended = &group, .ends = &group};
  run();
  EXPECT_TRUE(group.load());
  EXPECT_EQ(thread_->tally(0).reads, 100);
  EXPECT_EQ(run().reads, 0) << "the group had ended";
}

TEST_F(IoThreadTest, OperationsOfAnEarlierRunAreNotItsLastOnes) {
  std::atomic<bool> all{false};
  company_ = {.all_ended = &all};
  IoThread& thread = make();
  thread.run(stop_, sample_);
  EXPECT_TRUE(std::ranges::all_of(thread.used(), std::identity{}));
  all = true;
  thread.prepare({});
  thread.run(stop_, sample_);
  EXPECT_EQ(thread.tally(0).reads, 0);
  EXPECT_TRUE(std::ranges::none_of(thread.used(), std::identity{}));
}

TEST_F(IoThreadTest, AFlowKeepsTheRatioOfWeights) {
  IoFlow flow;
  flow.weights = 3;  // Of another thread,
  flow.operations = 30;
  company_ = {.flow = &flow, .weight = 1};
  rule_.amount = 0;
  IoThread& thread = make();
  std::thread worker([&] { thread.run(stop_, sample_); });
  while (flow.operations < 41) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(flow.operations.load(), 41) << "11 of 41 are more than a quarter";
  stop_.store(true);
  worker.join();
  EXPECT_EQ(thread.tally(0).reads, 11);
  EXPECT_EQ(flow.weights.load(), 3);
}

TEST_F(IoThreadTest, OperationsInFlightAndCallsAreCounted) {
  rule_.depth = 16;
  rule_.batch = 1;
  const Tally& tally = run();
  const auto sum = [](const auto& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  EXPECT_EQ(sum(tally.depths.in_flight), 100);
  EXPECT_EQ(tally.depths.in_flight[0], 1);  // The first one,
  EXPECT_EQ(tally.depths.in_flight[1], 2);  // the two behind it.
  EXPECT_GE(tally.depths.in_flight[4], 80);
  EXPECT_EQ(tally.depths.submitted[1], 100);
  EXPECT_GE(sum(tally.depths.completed), 100);
}

TEST_F(IoThreadTest, TheKernelsCountsAreOfTheThread) {
  const ThreadUsage used = run().usage;
  EXPECT_GE(used.user_s + used.system_s, 0);
  rule_.think_every = 1;
  rule_.think_s = 0.001;
  EXPECT_GE(run().usage.switches, 90) << "it slept that often";
}

TEST(DepthSearchTest, FindsTheDeepestThatIsFastEnough) {
  // Operations take 100 us for each one in flight; at most 1.3 ms are allowed.
  DepthSearch search({.target_s = 1.3e-3, .percent = 99, .window_s = 0.01}, 64);
  std::int64_t now = 0;
  search.begin(now);
  std::vector<std::uint32_t> tried{search.depth()};
  DepthSearch::Step step = DepthSearch::Step::kNone;
  while (step != DepthSearch::Step::kOver) {
    now += 100'000;
    step = search.note(search.depth() * 100'000, now);
    if (step == DepthSearch::Step::kChanged) tried.push_back(search.depth());
  }
  EXPECT_EQ(search.depth(), 13);
  EXPECT_EQ(tried, (std::vector<std::uint32_t>{1, 2, 4, 8, 16, 12, 14, 13}));
}

TEST(DepthSearchTest, ReportsTheLeastDepthWhereEvenThatIsTooSlowAndTheMostWhereAllAreFast) {
  for (const auto& [latency_ns, expected] : {std::pair(5'000'000, 1U), {1000, 8U}}) {
    DepthSearch search({.target_s = 1e-3, .percent = 99, .window_s = 0.01}, 8);
    search.begin(0);
    std::int64_t now = 0;
    while (search.note(static_cast<std::uint64_t>(latency_ns), now += 1'000'000) !=
           DepthSearch::Step::kOver) {
      ASSERT_LT(now, 1'000'000'000);
    }
    EXPECT_EQ(search.depth(), expected);
  }
}

}  // namespace
}  // namespace tierscope
