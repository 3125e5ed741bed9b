// Evidence that kinds of measurement of CPU-reached memory have in common.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kinds/node_traffic.h"
#include "memory/persistent.h"
#include "memory/region.h"
#include "memory/traffic_counters.h"
#include "threads/usage.h"
#include "threads/window.h"

namespace tierscope {

// pages, page_bytes, huge_bytes and region_bytes of all regions together, read back now, and the
// traffic by node of the threads that walked them (each of the walks went over every region), where
// there are several nodes. With `names`, one for each region: also the pages of each of them by
// node. Throws Failure where the pages of a region are no longer where its placement put them.
nlohmann::ordered_json region_evidence(const std::vector<const Region*>& regions,
                                       std::span<const WalkedShare> walks = {},
                                       std::span<const std::string_view> names = {});

// region_bytes of memory in a file, a device or a pool, and where its pages are, as far as they
// tell: pages and page_bytes. Throws as region_evidence does.
nlohmann::ordered_json mapping_evidence(const PersistentMapping& memory,
                                        const Placement& placement);

// What a measurement that writes compared, over all of its repetitions.
struct Compared {
  std::uint64_t repetitions = 0;  // Before this one.
  std::uint64_t written = 0;      // Bytes that hold what was written, by the last repetition that
                                  // compared all of its array.
  std::uint64_t bytes = 0;        // Compared in this repetition.
  std::uint64_t size = 0;         // Of the array.

  // After a repetition that found so many bytes written.
  void note(std::uint64_t now_written, std::uint64_t now_compared);
  // "N bytes written", with the sample that further repetitions compared.
  std::string text() const;
};

// The CPU that each worker was last seen on.
std::vector<int> cpus_of(std::span<const Worker> workers);

// Adds the evidence "cpus", and "cpus_seen" and a note where threads share CPUs.
void add_cpus(std::span<const Worker> workers, const CpuSets& sets,
              nlohmann::ordered_json& evidence);

// What the kernel counted of threads, and for how many seconds they worked.
nlohmann::ordered_json usage_evidence(const ThreadUsage& usage, double worked_s);

// Bytes that a measurement's threads moved so far: as the program asked, and as the bus should see
// where that is known.
struct Moved {
  double program_bytes;
  std::optional<double> bus_bytes;
};

// What hardware counters see of the machine's memory traffic, from construction on. Make it just
// before the first sample and ask it just after the last, so that no clock runs while counters are
// read.
class TrafficCheck {
 public:
  explicit TrafficCheck(const Moved& so_far, const TrafficCounters& counters = traffic_counters());
  // Adds the evidence "counters": one entry for each counter that can be read, most often none.
  void report(const Moved& so_far, nlohmann::ordered_json& evidence) const;

 private:
  const TrafficCounters& counters_;
  Moved moved_;
  std::map<std::string, double> counted_;
};

}  // namespace tierscope
