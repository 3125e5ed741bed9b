#include "benches/evidence.h"

#include <fmt/format.h>

#include <map>

#include "interrupt.h"
#include "sampling/clock.h"

namespace tierscope {

Surroundings real_surroundings(const Progress& progress, const DisturbanceWatch* watch) {
  Surroundings surroundings{.now = now_seconds, .interrupted = interrupted, .progress = progress};
  if (watch != nullptr) surroundings.disturbed = [watch] { return watch->last_disturbed(); };
  return surroundings;
}

nlohmann::ordered_json region_evidence(const std::vector<Region*>& regions) {
  std::map<int, std::size_t> pages;
  std::size_t page_bytes = 0;
  std::size_t huge_bytes = 0;
  std::size_t bytes = 0;
  for (const Region* region : regions) {
    const RegionReport report = region->report();
    for (const auto& [node, count] : report.pages) pages[node] += count;
    page_bytes = report.page_bytes;
    huge_bytes += report.huge_bytes;
    bytes += region->size();
  }
  nlohmann::ordered_json by_node = nlohmann::ordered_json::object();
  for (const auto& [node, count] : pages) by_node[std::to_string(node)] = count;
  return {{"pages", by_node},
          {"page_bytes", page_bytes},
          {"huge_bytes", huge_bytes},
          {"region_bytes", bytes}};
}

TrafficCheck::TrafficCheck(const Moved& so_far, const TrafficCounters& counters)
    : counters_(counters), moved_(so_far), counted_(counters.read()) {}

nlohmann::ordered_json TrafficCheck::counted(const Moved& so_far) const {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (const auto& [source, bytes] : counters_.read()) {
    const auto before = counted_.find(source);
    if (before == counted_.end()) continue;
    entries.push_back({{"source", source},
                       {"bytes", bytes - before->second},
                       {"program_bytes", so_far.program_bytes - moved_.program_bytes},
                       {"bus_bytes", so_far.bus_bytes - moved_.bus_bytes}});
  }
  return entries;
}

void add_sampling_evidence(nlohmann::ordered_json& evidence, const Sampled& sampled,
                           const DisturbanceWatch& watch) {
  evidence["clock"] = describe_clock();
  evidence["disturbed"] = sampled.disturbed;
  evidence["replaced"] = sampled.replaced;
  evidence["steal_share"] = watch.steal_share();
  nlohmann::ordered_json notes = nlohmann::ordered_json::array();
  const Estimate& estimate = sampled.estimate;
  const auto whole = static_cast<int>(estimate.effective_n);
  if (whole < kFewestForRanks) {
    notes.push_back(fmt::format(
        "samples that hang together, worth {} independent ones: {}", whole,
        whole < 2 ? "the interval is their whole range" : "the interval is by Student's t"));
  }
  if (!sampled.settled) {
    notes.push_back(
        fmt::format("no two successive samples of {} in the warm-up agreed", sampled.warm_up));
  }
  if (!notes.empty()) evidence["notes"] = notes;
}

}  // namespace tierscope
