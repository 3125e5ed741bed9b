// Evidence of the way that data took between storage and GPUs.
#include <cstring>

#include "gpu/cufile_fixture.h"
#include "gpu/cufile_ways.h"
#include "gpu/pcie_traffic.h"

namespace tierscope {
namespace {

using fake_cufile::Way;
using nlohmann::ordered_json;

class Watched : public StorageToGpu {
 protected:
  static constexpr std::uint64_t kOperations = kFileBytes / (16 << 10);

  // Reads the file by a backend and gives the evidence; `require` may throw.
  ordered_json read_by(const char* backend, const char* require = "", bool direct = true) {
    Going going(file_, {.backend = backend});
    const auto watch = watch_gpu_io({1}, backend, 0);
    going.read();  // Set-up, forgotten.
    watch->restart();
    going.read();
    watch->stop();
    ordered_json evidence;
    watch->report(evidence, require, direct);
    return evidence;
  }
  std::string refused(const char* backend, const char* require, bool direct = true) {
    return refusal([&] { read_by(backend, require, direct); });
  }
};

TEST_F(Watched, OperationsAreCountedByTheWayTheyTook) {
  const std::vector<std::pair<Way, const char*>> ways{
      {Way::kP2p, "p2p"}, {Way::kNvfs, "nvfs"}, {Way::kPosix, "posix"}};
  for (const auto& [way, name] : ways) {
    fake().machine.way = way;
    for (const char* backend : {"cufile", "cufile-stream", "cufile-batch-stream"}) {
      const ordered_json counted = read_by(backend)["storage_io"]["ways"];
      EXPECT_EQ(counted[name], kOperations) << backend << counted;
      std::uint64_t total = 0;
      for (const auto& count : counted) total += count.get<std::uint64_t>();
      EXPECT_EQ(total, kOperations);
    }
  }
}

// Statistics of level 3 leave batches out.
TEST_F(Watched, BatchesAreCountedWhenTheyAreSubmitted) {
  fake().machine.way = Way::kP2p;
  EXPECT_EQ(read_by("cufile-batch", "p2p")["storage_io"]["ways"]["p2p"], kOperations);
  fake().machine.way = Way::kPosix;
  const ordered_json counted = read_by("cufile-batch")["storage_io"]["ways"];
  EXPECT_EQ(counted["aio"].get<std::uint64_t>() + counted["mixed"].get<std::uint64_t>(),
            kOperations);
}

TEST_F(Watched, WhatIsRequiredIsJudgedByWhatWasCounted) {
  fake().machine.way = Way::kP2p;
  EXPECT_EQ(refused("cufile", "p2p"), "");
  EXPECT_EQ(refused("cufile", "gpudirect"), "");
  EXPECT_EQ(refused("cufile", "odirect", false), "");
  EXPECT_EQ(refused("cufile", "nvfs"),
            "path: --require nvfs: 0 of 64 operations went that way (64 by p2p)");
  fake().machine.way = Way::kNvfs;
  EXPECT_EQ(refused("cufile-batch", "nvfs"), "");
  EXPECT_EQ(refused("cufile-batch", "gpudirect"), "");
  fake().machine.way = Way::kPosix;
  EXPECT_EQ(refused("cufile-stream", "gpudirect"),
            "path: --require gpudirect: 0 of 64 operations went that way (64 by posix)");
  EXPECT_EQ(refused("cufile-batch", "p2p").find("path: --require p2p: 0 of 64"), 0);
  EXPECT_EQ(refused("cufile", "odirect", true), "");
  EXPECT_NE(refused("cufile", "odirect", false), "");
}

TEST_F(Watched, OneOperationOnAnotherWayFails) {
  fake().machine.way = Way::kP2p;
  fake().machine.posix_from = 2 * kOperations - 1;
  EXPECT_EQ(refused("cufile", "p2p"),
            "path: --require p2p: 63 of 64 operations went that way (63 by p2p, 1 by posix)");
}

TEST_F(Watched, NothingCountedProvesNothing) {
  const auto watch = watch_gpu_io({0}, "cufile", 0);
  watch->stop();
  ordered_json evidence;
  EXPECT_NE(refusal([&] { watch->report(evidence, "p2p", true); }).find("counted no operation"),
            std::string::npos);
}

TEST_F(Watched, StagedWaysNeverAreGpudirect) {
  EXPECT_EQ(refused("staged", "odirect"), "");
  EXPECT_EQ(refused("staged-async", "gpudirect"),
            "path: --require gpudirect: backend staged-async goes through host memory");
  EXPECT_NE(refused("staged", "odirect", false).find("and the page cache"), std::string::npos);
  EXPECT_FALSE(read_by("staged").contains("cufile"));
}

TEST_F(Watched, SetUpAndSettingsStandBesideTheCounts) {
  const ordered_json cufile = read_by("cufile")["cufile"];
  EXPECT_EQ(cufile["version"], "1.15");
  EXPECT_EQ(cufile["allow_compat_mode"], true);
  EXPECT_EQ(cufile["set_by"], "tierscope");
  EXPECT_GE(cufile["driver_open_s"], 0);
  EXPECT_GT(cufile["register_s"], 0);
}

TEST_F(Watched, BatchesThatWaitedForThePoolAreNoted) {
  fake().machine.pool = 2;
  const std::string notes = read_by("cufile-batch")["notes"].dump();
  EXPECT_NE(notes.find("has room for 2 blocks"), std::string::npos) << notes;
  fake().machine.pool = 64;
  EXPECT_EQ(read_by("cufile-batch").value("notes", ordered_json()).dump().find("has room"),
            std::string::npos);
}

// The library's structs grew without new symbols.
TEST_F(Watched, CountsAreReadInTheLayoutOfTheLibrarysVersion) {
  Cufile newer = open_cufile(1);
  const CufileWays before = cufile_ways(newer, false);
  newer.version = fake().machine.version = 1190;
  fake().machine.way = Way::kNvfs;
  Going(file_, {.backend = "cufile"}).read();
  const CufileWays counted = cufile_ways(newer, false).since(before);
  EXPECT_EQ(counted.operations.at("nvfs"), kOperations);
  EXPECT_EQ(counted.total(), kOperations);
}

TEST_F(Watched, ALibraryWithoutStatisticsProvesNothing) {
  Cufile older = open_cufile(1);
  older.counts = false;
  EXPECT_EQ(cufile_ways(older, false).total(), 0);
  EXPECT_NE(wrong_way(cufile_ways(older, true), "p2p", true), "");
}

// Two GPUs; the second one has GPM, as Hopper does.
unsigned handed_out = 0;
Nvml two_gpus() {
  Nvml library;
  library.device_count = [](unsigned* count) { return *count = 2, NVML_SUCCESS; };
  library.device_by_index = [](unsigned index, nvmlDevice_t* device) {
    *device = reinterpret_cast<nvmlDevice_t>(std::uintptr_t{index} + 1);
    return NVML_SUCCESS;
  };
  library.pci_info = [](nvmlDevice_t device, nvmlPciInfo_t* info) {
    std::snprintf(info->busId, sizeof info->busId, "00000000:%02X:00.0",
                  0x17 + static_cast<int>(reinterpret_cast<std::uintptr_t>(device)));
    return NVML_SUCCESS;
  };
  library.pcie_throughput = [](nvmlDevice_t, nvmlPcieUtilCounter_t counter, unsigned* kilobytes) {
    *kilobytes = counter == NVML_PCIE_UTIL_RX_BYTES ? 2'000'000 : 1'000'000;
    return NVML_SUCCESS;
  };
  library.gpm_support = [](nvmlDevice_t device, nvmlGpmSupport_t* support) {
    support->isSupportedDevice = reinterpret_cast<std::uintptr_t>(device) == 2 ? 1 : 0;
    return NVML_SUCCESS;
  };
  library.gpm_alloc = [](nvmlGpmSample_t* sample) {
    *sample = reinterpret_cast<nvmlGpmSample_t>(std::uintptr_t{++handed_out});
    return NVML_SUCCESS;
  };
  library.gpm_free = [](nvmlGpmSample_t) { return --handed_out, NVML_SUCCESS; };
  library.gpm_get = [](nvmlDevice_t, nvmlGpmSample_t) { return NVML_SUCCESS; };
  library.gpm_metrics = [](nvmlGpmMetricsGet_t* query) {
    for (unsigned i = 0; i < query->numMetrics; ++i) {
      nvmlGpmMetric_t& metric = query->metrics[i];
      metric.nvmlReturn = NVML_SUCCESS;
      metric.value = metric.metricId == NVML_GPM_METRIC_PCIE_RX_PER_SEC ? 1024 : 512;
    }
    return NVML_SUCCESS;
  };
  return library;
}

TEST(PcieTraffic, GpusAreReadByWhatTheyHave) {
  const Nvml library = two_gpus();
  handed_out = 0;
  {
    PcieTraffic pcie(library);
    pcie.restart();
    while (true) {  // The first sample comes from a thread.
      pcie.stop();
      if (!pcie.traffic().at(0).method.empty()) break;
      pcie.restart();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const std::vector<GpuTraffic> all = pcie.traffic();
    ASSERT_EQ(all.size(), 2);
    EXPECT_EQ(all[0].address, "00000000:18:00.0");
    EXPECT_EQ(all[0].method, "samples");
    EXPECT_DOUBLE_EQ(all[0].received, 2e9);
    EXPECT_DOUBLE_EQ(all[0].sent, 1e9);
    EXPECT_EQ(all[1].method, "GPM");
    EXPECT_DOUBLE_EQ(all[1].received, 0x1p30);
    EXPECT_DOUBLE_EQ(all[1].sent, 0x1p29);
  }
  EXPECT_EQ(handed_out, 0);
}

TEST(PcieTraffic, AGpuThatServesAsABounceBufferIsNamed) {
  const GpuTraffic own{.address = "00000000:18:00.0", .received = 5e9, .sent = 0, .method = "GPM"};
  GpuTraffic other{.address = "00000000:3B:00.0", .received = 4e9, .sent = 4e9, .method = "GPM"};
  const std::vector<std::string> notes = bounce_notes({own, other}, {"0000:18:00.0"});
  ASSERT_EQ(notes.size(), 1);
  EXPECT_NE(notes[0].find("the GPU at 00000000:3B:00.0 takes no part"), std::string::npos);
  EXPECT_TRUE(bounce_notes({own, other}, {"0000:18:00.0", "0000:3b:00.0"}).empty());
  other.received = other.sent = 1e6;
  EXPECT_TRUE(bounce_notes({own, other}, {"0000:18:00.0"}).empty());
}

}  // namespace
}  // namespace tierscope
