// Evidence of the way that data took between storage and GPUs.
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "gpu/cufile_fixture.h"
#include "gpu/cufile_ways.h"
#include "gpu/nvidia_fs.h"
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
  read_by("cufile");  // With the read that sets the library up.
  fake().seen = {};
  fake().machine.posix_from = 2 * kOperations - 1;
  EXPECT_EQ(refused("cufile", "p2p"),
            "path: --require p2p: 63 of 64 operations went that way (63 by p2p, 1 by posix)");
}

TEST_F(Watched, NothingCountedProvesNothing) {
  const auto watch = watch_gpu_io({0}, "cufile", 0);
  watch->stop();
  ordered_json evidence;
  EXPECT_NE(refusal([&] {
              watch->report(evidence, "p2p", true);
            }).find("not proven: cuFile counted no operation"),
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

// nvidia-fs' file of statistics, as its module writes it; its numbers are of all processes.
std::string nvidia_fs_says(bool counts, std::uint64_t reads, std::uint64_t read_mib) {
  const std::string lines =
      counts ? fmt::format(
                   "Reads\t\t\t\t: n={0} ok={0} err=0 readMiB={1} io_state_err=0\n"
                   "Reads\t\t\t\t: Bandwidth(MiB/s)=13081 Avg-Latency(usec)=9773\n"
                   "Sparse Reads\t\t        : n=9 io=0 holes=0 pages=0 \n"
                   "Writes\t\t\t\t: n=8 ok=7 err=1 writeMiB=3 io_state_err=0 pg-cache=0\n",
                   reads, read_mib)
             : "Reads\t\t\t\t: err=0 io_state_err=0\nWrites\t\t\t\t: err=0 io_state_err=0\n";
  return "GDS Version: 1.12.1.3 \nNVFS statistics(ver: 4.0)\n" + lines;
}

NvidiaFsCounts parsed(const std::string& text) {
  std::istringstream lines(text);
  return parse_nvidia_fs(lines);
}

TEST(NvidiaFs, WhatWentWellIsCountedWhereTheModuleCounts) {
  const NvidiaFsCounts found = parsed(nvidia_fs_says(true, 100, 25));
  EXPECT_TRUE(found.loaded);
  EXPECT_TRUE(found.counts);
  EXPECT_EQ(found.operations, 107);
  EXPECT_EQ(found.mib, 28);
  EXPECT_TRUE(parsed(nvidia_fs_says(false, 100, 25)).loaded);
  EXPECT_FALSE(parsed(nvidia_fs_says(false, 100, 25)).counts);
}

TEST(NvidiaFs, WhatIsMissingForAProofIsSaid) {
  const NvidiaFsCounts none;
  const NvidiaFsCounts silent = parsed(nvidia_fs_says(false, 0, 0));
  const NvidiaFsCounts before = parsed(nvidia_fs_says(true, 100, 25));
  const NvidiaFsCounts after = parsed(nvidia_fs_says(true, 164, 89));
  const auto why = [&](bool strict, const NvidiaFsCounts& now) {
    return not_by_nvidia_fs(strict, now.counts ? before : now, now, 64, 64 << 20);
  };
  EXPECT_EQ(why(true, after), "");
  EXPECT_EQ(why(false, after),
            "without compatibility mode, nvidia-fs' counters prove it: set "
            "CUFILE_ALLOW_COMPAT_MODE=false");
  EXPECT_EQ(why(true, silent),
            "without compatibility mode, nvidia-fs' counters prove it: let it "
            "count (as root: echo 1 > "
            "/sys/module/nvidia_fs/parameters/rw_stats_enabled)");
  EXPECT_NE(why(true, none).find("load nvidia-fs (as root: modprobe nvidia-fs), let it"),
            std::string::npos);
  EXPECT_EQ(why(true, parsed(nvidia_fs_says(true, 163, 89))),
            "nvidia-fs counted 63 of 64 operations and 64 of 64 MiB");
  EXPECT_EQ(why(true, parsed(nvidia_fs_says(true, 164, 86))),
            "nvidia-fs counted 64 of 64 operations and 61 of 64 MiB");
  EXPECT_NE(not_by_nvidia_fs(true, after, before, 64, 0), "") << "counters that were reset";
  EXPECT_EQ(not_by_nvidia_fs(true, before, after, 0, 0),
            "how many operations there were is not known");
}

// What a new process with cuFile 1.12 finds of its reads' way, while nvidia-fs counts so many.
void say_way(int file, const char* compat, const char* require, std::uint64_t counted) {
  const std::string statistics = ::testing::TempDir() + fmt::format("nvidia-fs-{}", getpid());
  set_nvidia_fs_statistics(statistics);
  std::ofstream(statistics) << nvidia_fs_says(true, 5, 5);
  setenv("CUFILE_ALLOW_COMPAT_MODE", compat, 1);
  Going going(file, {.backend = "cufile"});
  const auto watch = watch_gpu_io({1}, "cufile", 0);
  going.read();
  std::ofstream(statistics) << nvidia_fs_says(true, 5 + counted, 6);
  watch->stop();
  ordered_json evidence{{"storage_io", {{"reads", 64}, {"bytes_read", 1 << 20}}}};
  const std::string refused = refusal([&] { watch->report(evidence, require, true); });
  unlink(statistics.c_str());
  std::string note;
  for (const std::string one : evidence["notes"]) {
    if (one.starts_with("way ")) note = one;
  }
  std::fprintf(stderr, "%s|%s|%s|%s\n", evidence["storage_io"]["ways"].dump().c_str(),
               evidence["cufile"].value("proof", "none").c_str(), note.c_str(), refused.c_str());
  std::exit(0);
}

TEST_F(Watched, BeforeTheLibraryCountedNvidiaFsProvesTheWay) {
  const auto says = [&](const char* compat, const char* require, std::uint64_t counted) {
    use_version("1120");
    say_way(file_, compat, require, counted);
  };
  const auto done = ::testing::ExitedWithCode(0);
  EXPECT_EXIT(says("false", "nvfs", 64), done, "\\{\"nvfs\":64\\}\\|nvidia-fs\\|\\|\n");
  EXPECT_EXIT(says("false", "gpudirect", 70), done, "\\|nvidia-fs\\|\\|\n");
  EXPECT_EXIT(says("false", "p2p", 64), done,
              "--require p2p: 0 of 64 operations went that way .64 by nvfs.");
  EXPECT_EXIT(says("false", "", 60), done,
              "null\\|none\\|way not proven: libcufile 1.12 does not count the ways of "
              "operations, 1.15 does; nvidia-fs counted 60 of 64 operations");
  EXPECT_EXIT(says("true", "gpudirect", 64), done,
              "path: --require gpudirect: not proven: libcufile 1.12 .*: set "
              "CUFILE_ALLOW_COMPAT_MODE=false\n");
  EXPECT_EXIT(says("true", "odirect", 64), done, "COMPAT_MODE=false\\|\n");
}

TEST_F(Watched, ACountingLibraryIsItsOwnProof) {
  EXPECT_EQ(read_by("cufile")["cufile"]["proof"], "libcufile");
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
