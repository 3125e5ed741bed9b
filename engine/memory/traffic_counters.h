// What hardware counters see of the machine's memory traffic: a cross-check of what the engine
// counts itself, never a part of a figure and never needed for one.
//
// Each source counts the traffic of everybody, not of this process alone:
// - perf's counters of the memory controllers (uncore PMUs), found and encoded by what the kernel
//   says of them below /sys/bus/event_source/devices: type, cpumask, format, and of their events
//   those that have a scale and a unit in bytes. See perf_event_open(2).
// - The same of CXL devices (Linux 6.5, drivers/perf/cxl_pmu.c): messages that carry a line of 64
//   bytes. Evidence does not have them, as they are a part of what others count.
// - resctrl's monitoring of memory bandwidth (MBM) by the last-level caches, where it is mounted.
//   See Documentation/filesystems/resctrl.rst of the kernel.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tierscope {

// A source of counters, and whether it can be read here.
struct CounterSource {
  std::string name;  // "memory controllers", "resctrl".
  bool available;
  std::string detail;  // Where available: what counts.
  std::string reason;  // Where not: why, and what to do about it.
  std::string remedy;
};

// What one counter has counted so far.
struct TrafficCount {
  std::string source;   // As in CounterSource.
  std::string counter;  // "uncore_imc_3/cas_count_read", "mon_L3_00/mbm_total_bytes".
  int cpu;              // One that is near to it; -1 where nobody knows.
  double bytes;         // From an arbitrary beginning.
  double seconds;       // The counter's own time, from an arbitrary beginning.
};

class TrafficCounters {
 public:
  // Opens what can be opened. `root` stands before the kernel's paths, for trees of tests.
  explicit TrafficCounters(const std::string& root = "");
  ~TrafficCounters();
  TrafficCounters(const TrafficCounters&) = delete;
  TrafficCounters& operator=(const TrafficCounters&) = delete;

  // Bytes that each source counted so far, from an arbitrary beginning; a source that cannot be
  // read now is absent. Some 10 us a memory controller.
  std::map<std::string, double> read() const;

  // The same counter by counter, of the whole machine: resctrl's of all groups and not only of the
  // one that this process is in. A perf counter that had to share its PMU is absent.
  std::vector<TrafficCount> counts() const;

  const std::vector<CounterSource>& sources() const { return sources_; }

 private:
  struct PerfCounter {
    int file;
    double bytes_per_count;
    std::string name;
    int cpu;
  };
  void find_perf(const std::string& root);
  void find_cxl(const std::string& root);
  static std::string open_perf(const std::string& device, std::vector<std::string>& events,
                               std::vector<PerfCounter>& counters);
  static void close_perf(std::vector<PerfCounter>& counters);
  static void add_perf(const std::string& source, const std::vector<PerfCounter>& counters,
                       std::vector<TrafficCount>& counts);
  void add_resctrl(const std::string& group, std::vector<TrafficCount>& counts) const;
  void find_resctrl(const std::string& root);

  std::string root_;
  std::vector<CounterSource> sources_;
  std::string perf_name_;
  std::vector<PerfCounter> perf_;
  std::vector<PerfCounter> cxl_;
  std::map<std::string, std::vector<std::string>> resctrl_;  // Files by the metric they are of.
};

// This machine's, opened once.
const TrafficCounters& traffic_counters();

}  // namespace tierscope
