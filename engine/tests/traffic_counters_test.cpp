#include "memory/traffic_counters.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "kinds/evidence.h"
#include "memory/perf_events.h"

namespace tierscope {
namespace {

// A tree of the kernel's files, as a machine would have them; gone with the test.
class Tree {
 public:
  Tree()
      : root_(std::filesystem::temp_directory_path() / ("counters." + std::to_string(getpid()))) {}
  ~Tree() { std::filesystem::remove_all(root_); }
  std::string root() const { return root_; }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }

  // A PMU with the format of Intel's memory controllers.
  void pmu(const std::string& name, const std::string& type, const std::string& cpumask) const {
    const std::string device = kDevices + name;
    write(device + "/type", type);
    write(device + "/cpumask", cpumask);
    write(device + "/format/event", "config:0-7");
    write(device + "/format/umask", "config:8-15");
  }

  void event(const std::string& pmu, const std::string& name, const std::string& terms,
             const std::string& scale, const std::string& unit) const {
    const std::string file = kDevices + pmu + "/events/" + name;
    write(file, terms);
    if (!scale.empty()) write(file + ".scale", scale);
    if (!unit.empty()) write(file + ".unit", unit);
  }

  void domain(const std::string& group, const std::string& name, const std::string& total,
              const std::string& local) const {
    const std::string directory = "sys/fs/resctrl" + group + "/mon_data/" + name;
    write(directory + "/mbm_total_bytes", total);
    write(directory + "/mbm_local_bytes", local);
  }

 private:
  static inline const std::string kDevices = "sys/bus/event_source/devices/";
  std::filesystem::path root_;
};

const CounterSource& source_named(const TrafficCounters& counters, const std::string& name) {
  for (const CounterSource& source : counters.sources()) {
    if (source.name == name) return source;
  }
  throw std::out_of_range(name);
}

TEST(PerfEvent, IsEncodedByTheFormatsOfItsPmu) {
  const Tree tree;
  tree.write("format/event", "config:0-7,32-35");
  tree.write("format/umask", "config:8-15");
  tree.write("format/edge", "config:18");
  tree.write("format/filter", "config1:4-7");
  const auto config =
      encode_perf_event("event=0xf04,umask=0x03,edge,filter=5", tree.root() + "/format");
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->words[0], 0xf00040304ULL);
  EXPECT_EQ(config->words[1], 0x50ULL);
  EXPECT_EQ(config->words[2], 0ULL);
}

TEST(PerfEvent, WithATermThatNoFormatDescribesIsNotGuessed) {
  const Tree tree;
  tree.write("format/event", "config:0-7");
  EXPECT_FALSE(encode_perf_event("event=0x04,chmask=0x1", tree.root() + "/format"));
  EXPECT_FALSE(encode_perf_event("event=?", tree.root() + "/format"));
}

// The kernel's software PMU (type 1) has an event that runs everywhere: the clock of a CPU
// (PERF_COUNT_SW_CPU_CLOCK, 0), in nanoseconds.
TEST(TrafficCounters, ReadEventsOfAPmuByItsOwnFiles) {
  const Tree tree;
  tree.pmu("uncore_imc_0", "1", "0");
  tree.pmu("uncore_imc_1", "1", "0");
  for (const char* pmu : {"uncore_imc_0", "uncore_imc_1"}) {
    tree.event(pmu, "cas_count_read", "event=0x00,umask=0x00", "0.5", "KiB");
    tree.event(pmu, "cas_count_write", "event=0x00,umask=0x00", "0.5", "KiB");
    tree.event(pmu, "clockticks", "event=0x00", "", "");
  }
  const TrafficCounters counters(tree.root());
  const CounterSource& source = source_named(counters, "memory controllers");
  if (!source.available) GTEST_SKIP() << source.reason << ": perf events are not permitted here";
  EXPECT_EQ(source.detail, "cas_count_read, cas_count_write of uncore_imc_0, uncore_imc_1");
  const std::string name = "uncore_imc: cas_count_read, cas_count_write";
  const double before = counters.read().at(name);
  const double after = counters.read().at(name);
  EXPECT_GT(after, before);
}

TEST(TrafficCounters, TakeNoSumThatMissesAMemoryController) {
  const Tree tree;
  tree.pmu("uncore_imc_0", "1", "0");
  tree.event("uncore_imc_0", "cas_count_read", "event=0x00", "6.103515625e-5", "MiB");
  tree.pmu("uncore_imc_1", "1", "4095");  // No such CPU.
  tree.event("uncore_imc_1", "cas_count_read", "event=0x00", "6.103515625e-5", "MiB");
  const TrafficCounters counters(tree.root());
  const CounterSource& source = source_named(counters, "memory controllers");
  EXPECT_FALSE(source.available);
  EXPECT_NE(source.reason.find("cas_count_read of uncore_imc_"), std::string::npos)
      << source.reason;
  EXPECT_TRUE(counters.read().empty());
}

// amd_df and amd_umc have formats but name no events; Arm's count in units of their own.
TEST(TrafficCounters, AreNotGuessedWhereThePmuNamesNoBytes) {
  const Tree tree;
  tree.pmu("amd_umc_0", "13", "0");
  EXPECT_EQ(source_named(TrafficCounters(tree.root()), "memory controllers").reason,
            "amd_umc_0 names no event that is in bytes");
  tree.event("amd_umc_0", "flux_rd", "event=0x01", "", "");
  EXPECT_EQ(source_named(TrafficCounters(tree.root()), "memory controllers").reason,
            "amd_umc_0 names no event that is in bytes");
}

TEST(TrafficCounters, AddUpTheDomainsOfResctrl) {
  const Tree tree;
  tree.write("sys/fs/resctrl/schemata", "L3:0=fff;1=fff");
  tree.domain("", "mon_L3_00", "1000", "700");
  tree.domain("", "mon_L3_01", "234", "30");
  const TrafficCounters counters(tree.root());
  EXPECT_TRUE(source_named(counters, "resctrl").available);
  const std::map<std::string, double> expected{{"resctrl: mbm_total_bytes", 1234},
                                               {"resctrl: mbm_local_bytes", 730}};
  EXPECT_EQ(counters.read(), expected);
  tree.domain("", "mon_L3_01", "Unavailable", "130");
  EXPECT_EQ(counters.read(), (std::map<std::string, double>{{"resctrl: mbm_local_bytes", 830}}));
}

TEST(TrafficCounters, AreThoseOfTheGroupThatThisProcessIsMonitoredIn) {
  const Tree tree;
  tree.write("sys/fs/resctrl/schemata", "L3:0=fff");
  tree.domain("", "mon_L3_00", "1", "1");
  tree.domain("/batch/mon_groups/benchmarks", "mon_L3_00", "500", "400");
  tree.write("proc/self/cpu_resctrl_groups", "res:/batch\nmon:benchmarks");
  EXPECT_EQ(TrafficCounters(tree.root()).read().at("resctrl: mbm_total_bytes"), 500);
}

// Keys as in CountedTraffic, src/tierscope/model/event.py.
TEST(TrafficCheck, SaysWhatWasCountedBesideWhatMovedMeanwhile) {
  const Tree tree;
  tree.write("sys/fs/resctrl/schemata", "L3:0=fff");
  tree.domain("", "mon_L3_00", "1000", "Unavailable");
  const TrafficCounters counters(tree.root());
  const TrafficCheck check({.program_bytes = 100, .bus_bytes = 200}, counters);
  tree.domain("", "mon_L3_00", "4000", "Unavailable");
  nlohmann::ordered_json evidence;
  check.report({.program_bytes = 2100, .bus_bytes = 3200}, evidence);
  EXPECT_EQ(evidence["counters"].dump(), R"([{"source":"resctrl: mbm_total_bytes","bytes":3000.0,)"
                                         R"("program_bytes":2000.0,"bus_bytes":3000.0}])");
}

TEST(TrafficCheck, HasNoBytesOnTheBusWhereNobodyKnowsThem) {
  const Tree tree;
  tree.write("sys/fs/resctrl/schemata", "L3:0=fff");
  tree.domain("", "mon_L3_00", "1000", "Unavailable");
  const TrafficCounters counters(tree.root());
  const TrafficCheck check({.program_bytes = 0, .bus_bytes = std::nullopt}, counters);
  nlohmann::ordered_json evidence;
  check.report({.program_bytes = 100, .bus_bytes = std::nullopt}, evidence);
  EXPECT_EQ(evidence["counters"][0]["program_bytes"], 100);
  EXPECT_FALSE(evidence["counters"][0].contains("bus_bytes"));
}

TEST(TrafficCounters, CountEachDomainOfEveryGroupNearItsCpu) {
  const Tree tree;
  tree.write("sys/fs/resctrl/schemata", "L3:0=fff;1=fff");
  tree.write("sys/fs/resctrl/info/L3_MON/mon_features", "mbm_total_bytes");
  tree.domain("", "mon_L3_00", "1000", "Unavailable");
  tree.domain("/batch", "mon_L3_01", "50", "40");
  tree.domain("/batch/mon_groups/part", "mon_L3_01", "20", "10");  // Counted in /batch already.
  tree.write("sys/devices/system/cpu/online", "0-3");
  tree.write("sys/devices/system/cpu/cpu0/cache/index3/id", "0");
  tree.write("sys/devices/system/cpu/cpu2/cache/index3/id", "1");
  std::vector<std::string> found;
  for (const TrafficCount& count : TrafficCounters(tree.root()).counts()) {
    found.push_back(count.counter + " " + std::to_string(count.cpu) + " " +
                    std::to_string(static_cast<int>(count.bytes)));
    EXPECT_EQ(count.source, "resctrl");
    EXPECT_GT(count.seconds, 0);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"/mon_L3_00/mbm_total_bytes 0 1000",
                                             "/batch/mon_L3_01/mbm_total_bytes 2 50",
                                             "/batch/mon_L3_01/mbm_local_bytes 2 40"}));
}

// The software PMU counts time here, too; each message of these carries 64 bytes.
TEST(TrafficCounters, CountLinesToAndFromCxlDevices) {
  const Tree tree;
  tree.pmu("cxl_pmu_mem0.0", "1", "0");
  tree.event("cxl_pmu_mem0.0", "s2m_drs_memdata", "event=0x00", "", "");
  tree.event("cxl_pmu_mem0.0", "m2s_rwd_memwr", "event=0x00", "", "");
  tree.event("cxl_pmu_mem0.0", "clock_ticks", "event=0x00", "", "");
  const TrafficCounters counters(tree.root());
  const CounterSource& source = source_named(counters, "CXL devices");
  if (!source.available) GTEST_SKIP() << source.reason << ": perf events are not permitted here";
  EXPECT_EQ(source.detail, "m2s_rwd_memwr, s2m_drs_memdata of cxl_pmu_mem0.0");
  EXPECT_TRUE(counters.read().empty()) << "they are a part of what others count";
  const std::vector<TrafficCount> counts = counters.counts();
  ASSERT_EQ(counts.size(), 2);
  EXPECT_EQ(counts[0].counter, "cxl_pmu_mem0.0/m2s_rwd_memwr");
  EXPECT_EQ(counts[0].cpu, 0);
  EXPECT_GT(counts[0].bytes, 0);
}

TEST(TrafficCounters, SayWhatToDoWhereThereAreNone) {
  const Tree tree;
  tree.write("sys/bus/event_source/devices/msr/type", "9");
  const TrafficCounters none(tree.root());
  EXPECT_TRUE(none.read().empty());
  EXPECT_FALSE(source_named(none, "memory controllers").reason.empty());
  EXPECT_EQ(source_named(none, "resctrl").reason, "this CPU or kernel has no resctrl");
  std::filesystem::create_directories(tree.root() + "/sys/fs/resctrl");
  const TrafficCounters unmounted(tree.root());
  EXPECT_EQ(source_named(unmounted, "resctrl").remedy,
            "mount -t resctrl resctrl /sys/fs/resctrl (as root)");
}

}  // namespace
}  // namespace tierscope
