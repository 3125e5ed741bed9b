// Measurements of GPUs whose rates are known beforehand: everything but the launches.
#include <gtest/gtest.h>

#include "benches/workspace.h"
#include "errors.h"
#include "gpu/devices.h"
#include "gpu/fake_cuda.h"
#include "gpu/measure.h"

namespace tierscope {
namespace {

constexpr std::size_t kSize = std::size_t{256} << 10;
const MemoryPlace kHostMemory{.placement = {.policy = Policy::kBind,
                                            .nodes = {{.node = 0, .weight = 1}},
                                            .mechanism = Mechanism::kUser}};

MemoryPlace memory_of(int gpu) { return {.gpu = gpu}; }

Transfer transfer(const MemoryPlace& source, const MemoryPlace& destination, int gpu,
                  CopyEngine engine = CopyEngine::kCopyEngine, int streams = 1) {
  return {.name = std::to_string(source.gpu) + ">" + std::to_string(destination.gpu),
          .source = source,
          .destination = destination,
          .gpu = gpu,
          .engine = engine,
          .streams = streams,
          .reported = true};
}

GpuCommon common() {
  return {.cpus = {0},
          .sampling = {.precision = 0.01, .budget_s = 0.02, .sample_s = 0.02},
          .trace = false};
}

Outcome measure(const GpuCopySpec& spec) {
  Workspace workspace;
  return measure_gpu_copy(spec, workspace, [](double, const std::vector<double>&) {});
}

GpuCopySpec copies(std::vector<Transfer> transfers) {
  return {.common = common(),
          .size = kSize,
          .offset = 0,
          .row_bytes = 0,
          .pitch = 0,
          .verify = true,
          .transfers = std::move(transfers)};
}

Outcome measure(std::vector<Transfer> transfers) { return measure(copies(std::move(transfers))); }

double rate_of(const Outcome& outcome, std::size_t transfer) {
  return outcome.figures.at(transfer).estimate;
}

bool in_turn(const Outcome& outcome) { return outcome.evidence.contains("in_turn"); }

void expect_rate(double found, double rate) { EXPECT_NEAR(found / rate, 1, 0.005); }

TEST(FakeGpu, OneCopyHasItsEnginesRate) {
  fake_cuda::set({.copy_engine = 80e6});
  const Outcome outcome = measure({transfer(kHostMemory, memory_of(0), 0)});
  expect_rate(outcome.sampled.estimate.median, 80e6);
  EXPECT_TRUE(outcome.evidence.contains("verified"));
}

TEST(FakeGpu, RowsAndOffsetsAreVerifiedAndThePaddingIsLeftAlone) {
  fake_cuda::set({});
  GpuCopySpec rows = copies({transfer(kHostMemory, memory_of(0), 0)});
  rows.row_bytes = 1000;
  rows.pitch = 1024;
  expect_rate(measure(rows).sampled.estimate.median, 50e6);
  GpuCopySpec odd =
      copies({transfer(memory_of(0), memory_of(1), 0, CopyEngine::kMultiprocessors, 3)});
  odd.size = 4097;
  odd.offset = 5;
  EXPECT_TRUE(measure(odd).evidence.contains("verified"));
}

TEST(FakeGpu, EveryKindOfHostMemoryIsVerified) {
  fake_cuda::set({});
  for (const HostKind kind :
       {HostKind::kWriteCombined, HostKind::kRegistered, HostKind::kPageable, HostKind::kManaged,
        HostKind::kManagedPrefetch, HostKind::kManagedAdvised}) {
    MemoryPlace memory = kHostMemory;
    memory.kind = kind;
    EXPECT_TRUE(measure({transfer(memory, memory_of(0), 0)}).evidence.contains("verified"));
    EXPECT_TRUE(measure({transfer(memory_of(0), memory, 0)}).evidence.contains("verified"));
  }
}

// Where no GPU reaches it by the CPU's page tables.
TEST(FakeGpu, PageableMemoryIsNotForKernels) {
  fake_cuda::set({});
  MemoryPlace memory = kHostMemory;
  memory.kind = HostKind::kPageable;
  EXPECT_THROW(measure({transfer(memory, memory_of(0), 0, CopyEngine::kMultiprocessors)}),
               Unavailable);
}

TEST(FakeGpu, GpusThatTheBuildHasNoKernelsForAreNamed) {
  fake_cuda::set({.runs_kernels = false});
  EXPECT_THROW(measure({transfer(kHostMemory, memory_of(0), 0)}), Unavailable);
}

// Each of these would make streams wait for each other, and one of them waits at the gate.
TEST(FakeGpu, WhatTheUserTellsOtherCudaProgramsIsOverruled) {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST", 1);
  gpu_runtime();
  EXPECT_STREQ(getenv("CUDA_LAUNCH_BLOCKING"), "0");
  EXPECT_STREQ(getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "8");
  EXPECT_STREQ(getenv("CUDA_MODULE_LOADING"), "EAGER");
  EXPECT_STREQ(getenv("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
}

TEST(FakeGpu, StreamsOfOneTransferShareItsEngine) {
  for (const bool stays : {false, true}) {
    fake_cuda::set({.stays_with_a_stream = stays});
    const auto both = measure({transfer(kHostMemory, memory_of(0), 0, CopyEngine::kCopyEngine, 3),
                               transfer(memory_of(0), kHostMemory, 0, CopyEngine::kCopyEngine, 2)});
    expect_rate(rate_of(both, 0), 50e6);
    expect_rate(rate_of(both, 1), 50e6);
    EXPECT_FALSE(in_turn(both));
  }
}

TEST(FakeGpu, AnEngineThatTakesTurnsByCopySharesItsRateEvenly) {
  fake_cuda::set({});
  const Outcome outcome =
      measure({transfer(memory_of(0), memory_of(1), 0), transfer(memory_of(0), memory_of(2), 0)});
  EXPECT_FALSE(in_turn(outcome));
  expect_rate(rate_of(outcome, 0), 25e6);
  expect_rate(outcome.sampled.estimate.median, 50e6);
}

TEST(FakeGpu, TransfersOfSeveralStreamsShareAnEngineByTheirBytes) {
  fake_cuda::set({});
  const auto ce = CopyEngine::kCopyEngine;
  const Outcome outcome = measure({transfer(memory_of(0), memory_of(1), 0, ce, 3),
                                   transfer(memory_of(0), memory_of(2), 0, ce, 1)});
  expect_rate(rate_of(outcome, 0) + rate_of(outcome, 1), 50e6);
  EXPECT_GT(rate_of(outcome, 0), rate_of(outcome, 1));
}

// As H200s do: no set may seem to be faster than the engine that moves all of it.
TEST(FakeGpu, AnEngineThatStaysWithAStreamIsNoFaster) {
  fake_cuda::set({.stays_with_a_stream = true});
  const Outcome outcome =
      measure({transfer(memory_of(0), memory_of(1), 0), transfer(memory_of(0), memory_of(2), 0),
               transfer(memory_of(0), memory_of(3), 0)});
  for (std::size_t i = 0; i < 3; ++i) expect_rate(rate_of(outcome, i), 50e6 / 3);
  expect_rate(outcome.sampled.estimate.median, 50e6);
}

// Several GPUs read from one, which serves one after the other: also as H200s do.
TEST(FakeGpu, GpusServedInTurnHaveEqualParts) {
  for (const double rate : {50e6, 2e6}) {
    fake_cuda::set({.copy_engine = rate, .stays_with_a_stream = true});
    const Outcome outcome =
        measure({transfer(memory_of(0), memory_of(1), 1), transfer(memory_of(0), memory_of(2), 2),
                 transfer(memory_of(0), memory_of(3), 3)});
    EXPECT_TRUE(in_turn(outcome));
    for (std::size_t i = 0; i < 3; ++i) expect_rate(rate_of(outcome, i), rate / 3);
  }
}

// All to all: whatever the engines' own order, each GPU's transfers are in the plan's.
TEST(FakeGpu, TransfersOfSeveralGpusToSeveralOthersGoInTurn) {
  for (const bool stays : {false, true}) {
    fake_cuda::set({.stays_with_a_stream = stays});
    std::vector<Transfer> all;
    for (int gpu = 0; gpu < 3; ++gpu) {
      for (const int next : {1, 2}) {
        all.push_back(transfer(memory_of(gpu), memory_of((gpu + next) % 3), gpu));
      }
    }
    const Outcome outcome = measure(all);
    EXPECT_TRUE(in_turn(outcome));
    EXPECT_TRUE(outcome.evidence.contains("verified"));
    for (std::size_t i = 0; i < all.size(); ++i) expect_rate(rate_of(outcome, i), 25e6);
    expect_rate(outcome.sampled.estimate.median, 150e6);
  }
}

TEST(FakeGpu, SlowTransferBesideAQuickOneHasItsOwnRate) {
  fake_cuda::set({.kernels = {{0, 51e6}, {1, 3e6}}});
  const auto sm = CopyEngine::kMultiprocessors;
  const Outcome outcome = measure(
      {transfer(memory_of(0), kHostMemory, 0, sm), transfer(memory_of(1), kHostMemory, 1, sm)});
  EXPECT_FALSE(in_turn(outcome));
  expect_rate(rate_of(outcome, 0), 51e6);
  expect_rate(rate_of(outcome, 1), 3e6);
}

TEST(FakeGpu, OneKernelMovesBothWays) {
  fake_cuda::set({});
  const auto sm = CopyEngine::kMultiprocessors;
  const Outcome outcome = measure(
      {transfer(kHostMemory, memory_of(0), 0, sm), transfer(memory_of(0), kHostMemory, 0, sm)});
  expect_rate(rate_of(outcome, 0), 40e6);
  expect_rate(rate_of(outcome, 1), 40e6);
}

// Cut into pieces, and with fewer samples than pieces: what they left is moved before it is
// compared.
TEST(FakeGpu, EveryByteIsMovedBeforeItIsCompared) {
  fake_cuda::set({.copy_engine = 200e3});
  EXPECT_NO_THROW(
      measure({transfer(kHostMemory, memory_of(0), 0), transfer(memory_of(0), kHostMemory, 0)}));
}

// Copies that work while the lanes are sized and do nothing afterwards.
TEST(FakeGpu, WhatIsTimedIsWhatIsVerified) {
  int left = 3;
  fake_cuda::set({.copies = [&left] { return left-- > 0; }});
  EXPECT_THROW(measure({transfer(kHostMemory, memory_of(0), 0)}), Failure);
}

Outcome chase(bool per_multiprocessor, bool every_multiprocessor) {
  Workspace workspace;
  return measure_gpu_latency({.common = common(),
                              .gpu = 0,
                              .memory = memory_of(0),
                              .bulk = false,
                              .size = 16 << 10,
                              .stride = 128,
                              .linear = false,
                              .per_multiprocessor = per_multiprocessor,
                              .every_multiprocessor = every_multiprocessor},
                             workspace, [](double, const std::vector<double>&) {});
}

TEST(FakeGpu, LatencyBySMHasNeitherTheLaunchNorTheColdL1InIt) {
  fake_cuda::set({});
  const Outcome outcome = chase(true, false);
  ASSERT_EQ(outcome.figures.size(), 5);
  for (const Figure& figure : outcome.figures) EXPECT_NEAR(figure.estimate, 20, 0.1);
  EXPECT_NEAR(chase(false, true).sampled.estimate.median, 20, 0.1);
}

}  // namespace
}  // namespace tierscope
