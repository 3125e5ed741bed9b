// Copies and chases on GPUs whose rates are known beforehand: everything but the launches.
#include <gtest/gtest.h>

#include "errors.h"
#include "gpu/device.h"
#include "gpu/devices.h"
#include "gpu/fake_cuda.h"
#include "gpu/gpu_kinds.h"

namespace tierscope {
namespace {

using nlohmann::json;

Repetition planned(const json& plan) { return Repeated("gpu-copy", plan).repetition(); }
Repetition copy(const std::vector<json>& transfers) { return planned(copy_plan(transfers)); }

double total_of(const Repetition& repetition) { return median_of(repetition, 0, 0); }
double rate_of(const Repetition& repetition, std::size_t transfer) {
  return median_of(repetition, 0, 1 + transfer);
}

bool in_turn(const Repetition& repetition) { return repetition.evidence.contains("in_turn"); }

void expect_rate(double found, double rate) { EXPECT_NEAR(found / rate, 1, 0.005); }

TEST(FakeGpu, OneCopyHasItsEnginesRate) {
  fake_cuda::set({.copy_engine = 80e6});
  const Repetition repetition = copy({transfer(host_memory(), memory_of(0), 0)});
  ASSERT_EQ(repetition.series.size(), 2);
  ASSERT_EQ(repetition.series[0].columns.size(), 1);
  EXPECT_EQ(repetition.series[0].name, "copies");
  EXPECT_EQ(repetition.series[0].columns[0].metric, "bandwidth");
  expect_rate(total_of(repetition), 80e6);
  EXPECT_TRUE(repetition.evidence.contains("verified"));
}

// Without this delay, no test would find a kernel that relies on cuMemcpy() in another stream.
TEST(FakeGpu, OtherStreamsDoNotWaitForTheDefaultStream) {
  fake_cuda::set({});
  const GpuBytes memory = make_gpu_bytes(0, 1);
  const Stream stream = make_stream(0);
  const auto seen = [&] {
    char byte = 0;
    copy_and_wait(&byte, memory.get(), 1, stream, "reading");
    return byte;
  };
  copy_and_wait(memory.get(), "a", 1, stream, "writing");
  cuda().cuMemcpy(address_of(memory.get()), address_of("b"), 1);
  EXPECT_EQ(seen(), 'a');
  cuda().cuCtxSynchronize();
  EXPECT_EQ(seen(), 'b');
  cuda().cuMemsetD8(address_of(memory.get()), 'c', 1);
  EXPECT_EQ(seen(), 'b');
  char byte = 0;
  cuda().cuMemcpy(address_of(&byte), address_of(memory.get()), 1);
  EXPECT_EQ(byte, 'c');
}

TEST(FakeGpu, ARowHasThePartsOfAllTransfers) {
  fake_cuda::set({});
  const Repetition repetition =
      copy({transfer(host_memory(), memory_of(0), 0), transfer(memory_of(0), host_memory(), 0)});
  const SeriesSamples& copies = repetition.series.at(0);
  ASSERT_EQ(copies.columns.size(), 3);
  EXPECT_EQ(copies.columns[0].part, "");
  EXPECT_EQ(copies.columns[1].part, "host>0");
  EXPECT_EQ(copies.columns[2].part, "0>host");
  for (const Sample& sample : copies.samples) {
    ASSERT_EQ(sample.values.size(), 3);
    EXPECT_DOUBLE_EQ(sample.values[0], sample.values[1] + sample.values[2]);
    EXPECT_GT(sample.duration_s, 0);
  }
}

TEST(FakeGpu, OnlyReportedTransfersCountInTheTotal) {
  fake_cuda::set({});
  json other = transfer(memory_of(0), host_memory(), 0);
  other["reported"] = false;
  const Repetition repetition = copy({transfer(host_memory(), memory_of(0), 0), other});
  expect_rate(total_of(repetition), 50e6);
  expect_rate(rate_of(repetition, 1), 50e6);
}

TEST(FakeGpu, SamplesAndOffsetsAreVerifiedAndThePaddingIsLeftAlone) {
  fake_cuda::set({});
  json samples = copy_plan({transfer(host_memory(), memory_of(0), 0)});
  samples["pattern"] = {{"size", 262000}, {"row_bytes", 1000}, {"pitch", 1024}};
  expect_rate(total_of(planned(samples)), 50e6);
  json odd = copy_plan({transfer(memory_of(0), memory_of(1), 0, "sm", 3)});
  odd["pattern"] = {{"size", 4097}, {"offset", 5}};
  EXPECT_TRUE(planned(odd).evidence.contains("verified"));
}

TEST(FakeGpu, EveryKindOfHostMemoryIsVerified) {
  fake_cuda::set({});
  for (const std::string kind : {"write-combined", "registered", "pageable", "managed",
                                 "managed-prefetch", "managed-advised"}) {
    const json memory = host_memory(kind);
    EXPECT_TRUE(copy({transfer(memory, memory_of(0), 0)}).evidence.contains("verified"));
    if (kind == "managed") continue;
    EXPECT_TRUE(copy({transfer(memory_of(0), memory, 0)}).evidence.contains("verified"));
  }
}

// Each of these would make streams wait for each other, and one of them waits at the gate.
TEST(FakeGpu, WhatTheUserTellsOtherCudaProgramsIsOverruled) {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST", 1);
  gpu_runtime();
  EXPECT_STREQ(getenv("CUDA_LAUNCH_BLOCKING"), "0");
  EXPECT_STREQ(getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
  EXPECT_STREQ(getenv("CUDA_MODULE_LOADING"), "EAGER");
  EXPECT_STREQ(getenv("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
}

TEST(FakeGpu, StreamsOfOneTransferShareItsEngine) {
  for (const bool stays : {false, true}) {
    fake_cuda::set({.stays_with_a_stream = stays});
    const Repetition both = copy({transfer(host_memory(), memory_of(0), 0, "ce", 3),
                                  transfer(memory_of(0), host_memory(), 0, "ce", 2)});
    expect_rate(rate_of(both, 0), 50e6);
    expect_rate(rate_of(both, 1), 50e6);
    EXPECT_FALSE(in_turn(both));
  }
}

TEST(FakeGpu, MoreStreamsThanAGpuHasQueuesAreRefused) {
  fake_cuda::set({});
  const Repetition most = copy({transfer(host_memory(), memory_of(0), 0, "sm", 16),
                                transfer(memory_of(0), host_memory(), 0, "sm", 16)});
  EXPECT_GT(rate_of(most, 0), 0);
  EXPECT_GT(rate_of(most, 1), 0);
  try {
    copy({transfer(host_memory(), memory_of(0), 0, "sm", 17),
          transfer(memory_of(0), host_memory(), 0, "sm", 16)});
    FAIL() << "33 streams were taken";
  } catch (const Unavailable& error) {
    EXPECT_STREQ(error.what(),
                 "GPU 0 would have 33 concurrent streams, and it has 32 queues for them");
  }
}

TEST(FakeGpu, AnEngineThatTakesTurnsByCopySharesItsRateEvenly) {
  fake_cuda::set({});
  const Repetition repetition =
      copy({transfer(memory_of(0), memory_of(1), 0), transfer(memory_of(0), memory_of(2), 0)});
  EXPECT_FALSE(in_turn(repetition));
  expect_rate(rate_of(repetition, 0), 25e6);
  expect_rate(total_of(repetition), 50e6);
}

TEST(FakeGpu, TransfersOfSeveralStreamsShareAnEngineByTheirBytes) {
  fake_cuda::set({});
  const Repetition repetition = copy({transfer(memory_of(0), memory_of(1), 0, "ce", 3),
                                      transfer(memory_of(0), memory_of(2), 0, "ce", 1)});
  expect_rate(rate_of(repetition, 0) + rate_of(repetition, 1), 50e6);
  EXPECT_GT(rate_of(repetition, 0), rate_of(repetition, 1));
}

// As H200s do: no set may seem to be faster than the engine that moves all of it.
TEST(FakeGpu, AnEngineThatStaysWithAStreamIsNoFaster) {
  fake_cuda::set({.stays_with_a_stream = true});
  const Repetition repetition =
      copy({transfer(memory_of(0), memory_of(1), 0), transfer(memory_of(0), memory_of(2), 0),
            transfer(memory_of(0), memory_of(3), 0)});
  for (std::size_t i = 0; i < 3; ++i) expect_rate(rate_of(repetition, i), 50e6 / 3);
  expect_rate(total_of(repetition), 50e6);
}

// Several GPUs read from one, which serves one after the other: also as H200s do.
TEST(FakeGpu, GpusServedInTurnHaveEqualParts) {
  for (const double rate : {50e6, 2e6}) {
    fake_cuda::set({.copy_engine = rate, .stays_with_a_stream = true});
    const Repetition repetition =
        copy({transfer(memory_of(0), memory_of(1), 1), transfer(memory_of(0), memory_of(2), 2),
              transfer(memory_of(0), memory_of(3), 3)});
    EXPECT_TRUE(in_turn(repetition));
    for (std::size_t i = 0; i < 3; ++i) expect_rate(rate_of(repetition, i), rate / 3);
  }
}

// All to all: whatever the engines' own order, each GPU's transfers are in the plan's.
TEST(FakeGpu, TransfersOfSeveralGpusToSeveralOthersGoInTurn) {
  for (const bool stays : {false, true}) {
    fake_cuda::set({.stays_with_a_stream = stays});
    std::vector<json> all;
    for (int gpu = 0; gpu < 3; ++gpu) {
      for (const int next : {1, 2}) {
        all.push_back(transfer(memory_of(gpu), memory_of((gpu + next) % 3), gpu));
      }
    }
    const Repetition repetition = copy(all);
    EXPECT_TRUE(in_turn(repetition));
    EXPECT_TRUE(repetition.evidence.contains("verified"));
    for (std::size_t i = 0; i < all.size(); ++i) expect_rate(rate_of(repetition, i), 25e6);
    expect_rate(total_of(repetition), 150e6);
  }
}

TEST(FakeGpu, ASlowTransferConcurrentWithAQuickOneHasItsOwnRate) {
  fake_cuda::set({.kernels = {{0, 51e6}, {1, 3e6}}});
  const Repetition repetition = copy({transfer(memory_of(0), host_memory(), 0, "sm"),
                                      transfer(memory_of(1), host_memory(), 1, "sm")});
  EXPECT_FALSE(in_turn(repetition));
  EXPECT_FALSE(repetition.evidence.contains("fused"));
  expect_rate(rate_of(repetition, 0), 51e6);
  expect_rate(rate_of(repetition, 1), 3e6);
}

TEST(FakeGpu, OneKernelMovesBothDirectionsAndEvidenceSaysSo) {
  fake_cuda::set({});
  const Repetition repetition = copy({transfer(host_memory(), memory_of(0), 0, "sm"),
                                      transfer(memory_of(0), host_memory(), 0, "sm")});
  expect_rate(rate_of(repetition, 0), 40e6);
  expect_rate(rate_of(repetition, 1), 40e6);
  EXPECT_EQ(repetition.evidence["fused"], json::array({json::array({"host>0", "0>host"})}));
}

// Cut into pieces, and with fewer samples than pieces: what they left is moved before it is
// compared.
TEST(FakeGpu, EveryByteIsMovedBeforeItIsCompared) {
  fake_cuda::set({.copy_engine = 200e3});
  Repeated repeated("gpu-copy", copy_plan({transfer(host_memory(), memory_of(0), 0),
                                           transfer(memory_of(0), host_memory(), 0)}));
  EXPECT_NO_THROW(repeated.repetition(false, 1));
}

TEST(FakeGpu, LatencyBySMHasNeitherTheLaunchNorTheColdL1InIt) {
  fake_cuda::set({});
  json plan = latency_plan();
  plan["per_sm"] = true;
  const Repetition by_sm = Repeated("gpu-latency", plan).repetition();
  ASSERT_EQ(by_sm.series.size(), 2);
  EXPECT_EQ(by_sm.series[0].name, "chases");
  EXPECT_EQ(by_sm.series[1].name, "by_sm");
  EXPECT_EQ(by_sm.series[1].samples.size(), 3);
  ASSERT_EQ(by_sm.series[1].columns.size(), 5);
  for (const Sample& sample : by_sm.series[1].samples) {
    for (const double ns : sample.values) EXPECT_NEAR(ns, 20, 0.1);
  }
  plan = latency_plan();
  plan["every_sm"] = true;
  EXPECT_NEAR(total_of(Repeated("gpu-latency", plan).repetition()), 20, 0.1);
}

}  // namespace
}  // namespace tierscope
