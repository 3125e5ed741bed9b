// What hardware counters see of the machine's memory traffic: a cross-check of what the engine
// counts itself, never a part of a figure and never needed for one.
//
// Two sources, each of which counts the traffic of everybody, not of this process alone:
// - perf's counters of the memory controllers (uncore PMUs), found and encoded by what the kernel
//   says of them below /sys/bus/event_source/devices: type, cpumask, format, and of their events
//   those that have a scale and a unit in bytes. See perf_event_open(2).
// - resctrl's monitoring of memory bandwidth (MBM) by the last-level caches, where it is mounted.
//   See Documentation/filesystems/resctrl.rst of the kernel.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

  const std::vector<CounterSource>& sources() const { return sources_; }

 private:
  struct PerfCounter {
    int file;
    double bytes_per_count;
  };
  void find_perf(const std::string& root);
  std::string open_perf(const std::string& device, std::vector<std::string>& events);
  void close_perf();
  void find_resctrl(const std::string& root);

  std::vector<CounterSource> sources_;
  std::string perf_name_;
  std::vector<PerfCounter> perf_;
  std::map<std::string, std::vector<std::string>> resctrl_;  // Files by the metric they are of.
};

// This machine's, opened once.
const TrafficCounters& traffic_counters();

// The three config words of perf_event_attr for "event=0x04,umask=0x03", placed as the files of
// `format_directory` say; empty where none of them describes a term.
struct PerfConfig {
  std::array<unsigned long long, 3> words;
};
std::optional<PerfConfig> encode_perf_event(std::string_view terms,
                                            const std::string& format_directory);

}  // namespace tierscope
