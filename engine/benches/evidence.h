// Evidence that kinds of measurement of CPU-reached memory have in common.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benches/bench.h"
#include "memory/region.h"
#include "memory/traffic_counters.h"
#include "threads/disturbance.h"

namespace tierscope {

// The process's clock, its signals, and `progress`; `watch`, where given, tells which samples were
// disturbed and has to outlive what is returned.
Surroundings real_surroundings(const Progress& progress, const DisturbanceWatch* watch = nullptr);

// pages, page_bytes, huge_bytes and region_bytes of all regions together, read back now; throws
// Failure where a region is not, or no longer, where its placement put it.
nlohmann::ordered_json region_evidence(const std::vector<Region*>& regions);

// Bytes that a measurement's threads moved so far: as the program asked, and as the bus should see.
struct Moved {
  double program_bytes;
  double bus_bytes;
};

// Watches what hardware counters see of the machine's memory traffic, from its making on. Made
// before the first sample and asked after the last, so that no clock runs while counters are read.
class TrafficCheck {
 public:
  explicit TrafficCheck(const Moved& so_far, const TrafficCounters& counters = traffic_counters());
  // The evidence "counters": one entry for each counter that can be read, most often none.
  nlohmann::ordered_json counted(const Moved& so_far) const;

 private:
  const TrafficCounters& counters_;
  Moved moved_;
  std::map<std::string, double> counted_;
};

// disturbed, replaced, steal_share, clock, and notes on what a reader must know of the samples.
void add_sampling_evidence(nlohmann::ordered_json& evidence, const Sampled& sampled,
                           const DisturbanceWatch& watch);

}  // namespace tierscope
