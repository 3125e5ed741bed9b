// What repetitions to GPUs keep, prove and say, and what they refuse.
#include <gtest/gtest.h>

#include <set>

#include "errors.h"
#include "gpu/fake_cuda.h"
#include "gpu/gpu_kinds.h"

namespace tierscope {
namespace {

using nlohmann::json;

json one_copy(const std::string& engine = "ce", const std::string& memory = "pinned") {
  return copy_plan({transfer(host_memory(memory), memory_of(0), 0, engine)});
}

// Why the measurement is skipped or fails; kOther where it does not.
Cause cause_of(const std::string& kind, const json& plan) {
  try {
    Repeated(kind, plan).repetition();
  } catch (const Unavailable& error) {
    return error.cause();
  } catch (const Failure& error) {
    return error.cause();
  }
  return Cause::kOther;
}

struct Kinded {
  std::string name;
  json plan;
};

std::vector<Kinded> every_kind() {
  return {{"gpu-copy", one_copy("sm")},
          {"gpu-memory", memory_plan("triad")},
          {"gpu-latency", latency_plan()}};
}

TEST(GpuRepetitions, ASecondRepetitionDoesNotTuneAgain) {
  for (const Kinded& kind : every_kind()) {
    std::vector<int> launched;
    fake_cuda::set({.launched = [&launched](int blocks) { launched.push_back(blocks); }});
    Repeated repeated(kind.name, kind.plan);
    const Repetition first = repeated.repetition();
    const std::size_t tuned = launched.size() - first.series[0].samples.size();
    EXPECT_GT(tuned, 0);
    launched.clear();
    const Repetition second = repeated.repetition();
    EXPECT_EQ(launched.size(), second.series[0].samples.size());
    EXPECT_EQ(std::set(launched.begin(), launched.end()).size(), 1);
    EXPECT_NEAR(median_of(first, 0, 0) / median_of(second, 0, 0), 1, 1e-3);
    launched.clear();
    repeated.repetition(true);
    EXPECT_GT(launched.size(), second.series[0].samples.size());
  }
}

TEST(GpuRepetitions, BuffersStayUntilAFreshRepetition) {
  for (const Kinded& kind : every_kind()) {
    fake_cuda::set({});
    Repeated repeated(kind.name, kind.plan);
    repeated.repetition();
    const int first = fake_cuda::allocations();
    repeated.repetition();
    const int second = fake_cuda::allocations() - first;
    repeated.repetition(true);
    const int fresh = fake_cuda::allocations() - first - second;
    EXPECT_GT(fresh, second);
  }
}

// Copies, and stores, that work in the first repetition and do nothing in the second.
TEST(GpuRepetitions, DestinationsAreOverwrittenBeforeEachRepetition) {
  for (const Kinded& kind : {every_kind()[0], every_kind()[1]}) {
    bool works = true;
    fake_cuda::set({.copies = [&works] { return works; }});
    Repeated repeated(kind.name, kind.plan);
    repeated.repetition();
    works = false;
    try {
      repeated.repetition();
      FAIL() << "what was not written was verified";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.cause(), Cause::kVerification);
    }
  }
}

// Copies that work while the lanes are sized and do nothing afterwards.
TEST(GpuRepetitions, WhatIsTimedIsWhatIsVerified) {
  int left = 3;
  fake_cuda::set({.copies = [&left] { return left-- > 0; }});
  EXPECT_EQ(cause_of("gpu-copy", one_copy()), Cause::kVerification);
}

// Two measurements that share a buffer take turns.
TEST(GpuRepetitions, WhatAnotherMeasurementLeavesInABufferDoesNoHarm) {
  fake_cuda::set({});
  json other = copy_plan({transfer(memory_of(0), host_memory(), 0)});
  Repeated in("gpu-copy", one_copy());
  Repeated out("gpu-copy", other);
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_NO_THROW(in.repetition());
    EXPECT_NO_THROW(out.repetition());
  }
}

TEST(GpuRepetitions, EveryOperationOnMemoryIsVerified) {
  fake_cuda::set({});
  for (const char* operation : {"read", "write", "copy", "scale", "add", "triad"}) {
    Repeated repeated("gpu-memory", memory_plan(operation));
    for (int i = 0; i < 2; ++i) {
      const Repetition repetition = repeated.repetition();
      EXPECT_EQ(repetition.series.at(0).name, "passes");
      EXPECT_NEAR(median_of(repetition, 0, 0) / 40e6, 1, 0.005) << operation;
      EXPECT_TRUE(repetition.evidence.contains("verified")) << operation;
    }
  }
}

TEST(GpuRepetitions, AChaseGoesOnWhereItStoodAndIsProven) {
  fake_cuda::set({});
  Repeated repeated("gpu-latency", latency_plan());
  for (int i = 0; i < 3; ++i) {
    const Repetition repetition = repeated.repetition();
    EXPECT_GE(median_of(repetition, 0, 0), 20);
    EXPECT_EQ(repetition.evidence["walked_bytes"], 128 * 32);
  }
}

TEST(GpuRepetitions, NobodyLooksForDisturbanceOfWhatTheGpuTimes) {
  fake_cuda::set({});
  for (const Kinded& kind : every_kind()) {
    const Repetition repetition = Repeated(kind.name, kind.plan).repetition();
    EXPECT_FALSE(repetition.series.at(0).watched);
    EXPECT_FALSE(repetition.evidence.contains("steal_share"));
    EXPECT_EQ(repetition.evidence["clock"], "CUDA events, about 0.5 us steps");
  }
}

TEST(GpuRepetitions, TheIssuingCpuIsWatchedWhereTheHostTimes) {
  fake_cuda::set({});
  const Repetition pageable = Repeated("gpu-copy", one_copy("ce", "pageable")).repetition();
  EXPECT_TRUE(pageable.series.at(0).watched);
  EXPECT_NE(pageable.evidence["clock"], "CUDA events, about 0.5 us steps");
}

TEST(GpuRepetitions, CallsAreASeriesOfTheirOwnWhereThePlanSaysSo) {
  int copies = 0;
  fake_cuda::set({.copies = [&copies] { return ++copies > 0; }});
  json plan = one_copy();
  EXPECT_EQ(Repeated("gpu-copy", plan).repetition().series.back().name, "first");
  plan["call_latency"] = true;
  Repeated repeated("gpu-copy", plan);
  const Repetition first = repeated.repetition();
  ASSERT_EQ(first.series.size(), 3);
  const SeriesSamples& calls = first.series[1];
  EXPECT_EQ(calls.name, "calls");
  ASSERT_EQ(calls.columns.size(), 1);
  EXPECT_EQ(calls.columns[0].metric, "call_latency");
  EXPECT_GE(calls.samples.size(), 50);
  EXPECT_LE(calls.samples.size(), 100);
  EXPECT_TRUE(calls.watched);
  EXPECT_FALSE(first.series[0].watched);
  for (const Sample& sample : calls.samples) EXPECT_GT(sample.values.at(0), 0);
  // What calls do to the lane is undone for the next repetition's copies.
  const Repetition second = repeated.repetition();
  EXPECT_DOUBLE_EQ(first.series[0].samples[0].duration_s, second.series[0].samples[0].duration_s);
}

// Of repetitions that take new memory, and of copy engines only.
TEST(GpuRepetitions, TheFirstCopyIsASeriesOfItsOwn) {
  const auto has_first = [](const Repetition& repetition) {
    return repetition.series.back().name == "first";
  };
  for (const char* memory : {"pinned", "pageable", "managed"}) {
    fake_cuda::set({});
    Repeated repeated("gpu-copy", one_copy("ce", memory));
    const Repetition cold = repeated.repetition();
    ASSERT_TRUE(has_first(cold)) << memory;
    const SeriesSamples& first = cold.series.back();
    ASSERT_EQ(first.samples.size(), 1);
    EXPECT_EQ(first.columns[0].metric, "first_copy_bandwidth");
    EXPECT_GT(first.samples[0].values[0], 0);
    EXPECT_NEAR(first.samples[0].values[0] * first.samples[0].duration_s / (256 << 10), 1, 1e-9);
    const Repetition warm = repeated.repetition();
    EXPECT_FALSE(has_first(warm)) << memory;
    EXPECT_TRUE(has_first(repeated.repetition(true))) << memory;
  }
  fake_cuda::set({});
  EXPECT_FALSE(has_first(Repeated("gpu-copy", one_copy("sm")).repetition()));
}

TEST(GpuRepetitions, CausesOfWhatIsSkippedAreTyped) {
  fake_cuda::set({});
  EXPECT_EQ(cause_of("gpu-copy", copy_plan({transfer(host_memory(), memory_of(99), 99)})),
            Cause::kGpu);
  json absent = memory_plan("read");
  absent["gpu"] = 99;
  EXPECT_EQ(cause_of("gpu-memory", absent), Cause::kGpu);
  // No GPU reaches pageable memory by the CPU's page tables.
  EXPECT_EQ(cause_of("gpu-copy", one_copy("sm", "pageable")), Cause::kGpuFeature);
  EXPECT_EQ(cause_of("gpu-latency", latency_plan(host_memory("pageable"))), Cause::kGpuFeature);
  json traced = one_copy();
  traced["trace"] = true;
  EXPECT_EQ(cause_of("gpu-copy", traced), Cause::kTool);
  fake_cuda::set({.runs_kernels = false});
  EXPECT_EQ(cause_of("gpu-copy", one_copy()), Cause::kGpuFeature);
  fake_cuda::set({.peers = false});
  EXPECT_EQ(cause_of("gpu-copy", copy_plan({transfer(memory_of(0), memory_of(1), 0)})),
            Cause::kPeer);
  EXPECT_EQ(cause_of("gpu-latency", latency_plan(memory_of(1))), Cause::kPeer);
  fake_cuda::set({.free_bytes = 1 << 20});
  json large = memory_plan("read");
  large["pattern"]["size"] = 2 << 20;
  EXPECT_EQ(cause_of("gpu-memory", large), Cause::kMemory);
}

TEST(GpuRepetitions, ErrorsOfCudaAreFailures) {
  fake_cuda::set({.copy_error = CUDA_ERROR_INVALID_VALUE});
  EXPECT_EQ(cause_of("gpu-copy", one_copy()), Cause::kGpuError);
}

// Only a new process gets a new context.
TEST(GpuRepetitions, AnErrorThatInvalidatesTheContextEndsTheProcess) {
  fake_cuda::set({});
  Repeated repeated("gpu-copy", one_copy());
  repeated.repetition();
  fake_cuda::set({.copy_error = CUDA_ERROR_ILLEGAL_ADDRESS, .context_is_lost = true});
  EXPECT_THROW(repeated.repetition(), UnusableProcess);
  fake_cuda::set({});
}

TEST(GpuRepetitions, AVisitThatMemoryDidNotAllowCanBeTriedAgain) {
  fake_cuda::set({.free_bytes = 1 << 20});
  json large = memory_plan("copy");
  large["pattern"]["size"] = 2 << 20;
  Repeated repeated("gpu-memory", large);
  EXPECT_THROW(repeated.repetition(), Unavailable);
  fake_cuda::set({});
  EXPECT_NO_THROW(repeated.repetition());
}

}  // namespace
}  // namespace tierscope
