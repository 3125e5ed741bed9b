#include "kinds/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "memory/read_back.h"
#include "memory/system_memory.h"

namespace tierscope {

namespace {

template <typename Count>
nlohmann::ordered_json by_node(const std::map<int, Count>& counts) {
  nlohmann::ordered_json named = nlohmann::ordered_json::object();
  for (const auto& [node, count] : counts) named[std::to_string(node)] = count;
  return named;
}

}  // namespace

nlohmann::ordered_json region_evidence(const std::vector<const Region*>& regions,
                                       std::span<const WalkedShare> walks,
                                       std::span<const std::string_view> names) {
  nlohmann::ordered_json arrays = nlohmann::ordered_json::object();
  NodeTraffic traffic;
  std::map<int, std::size_t> pages;
  std::size_t page_bytes = 0;
  std::size_t huge_bytes = 0;
  std::size_t bytes = 0;
  for (const Region* region : regions) {
    const RegionReport report = region->report();
    for (const auto& [node, count] : report.pages) pages[node] += count;
    if (!names.empty()) arrays[std::string(names[arrays.size()])] = by_node(report.pages);
    if (report.page_bytes > 0) page_bytes = report.page_bytes;
    huge_bytes += report.huge_bytes;
    bytes += region->size();
    if (report.page_bytes == 0) continue;  // Nobody knows where its pages are.
    for (const WalkedShare& walk : walks) add_traffic(walk, report, traffic);
  }
  nlohmann::ordered_json evidence{{"region_bytes", bytes}};
  if (page_bytes > 0) {
    evidence["pages"] = by_node(pages);
    evidence["page_bytes"] = page_bytes;
    evidence["huge_bytes"] = huge_bytes;
  }
  // Kinds that make their stores durable say so themselves.
  const auto held = std::ranges::find_if(
      regions, [](const Region* region) { return region->persistent() != nullptr; });
  if (held != regions.end()) evidence["persistent"] = (*held)->persistent()->evidence(false);
  if (pages.size() > 1 && !traffic.empty()) evidence["traffic"] = by_node(traffic);
  if (!names.empty()) evidence["arrays"] = std::move(arrays);
  return evidence;
}

nlohmann::ordered_json mapping_evidence(const PersistentMapping& memory,
                                        const Placement& placement) {
  nlohmann::ordered_json evidence{{"region_bytes", memory.size()}};
  if (!memory.has_page_nodes()) return evidence;
  const RegionReport report = count_pages(memory.data(), memory.size(), base_page_bytes());
  if (placement.is_bound()) verify_placement(placement, base_page_bytes(), report);
  evidence["pages"] = by_node(report.pages);
  evidence["page_bytes"] = report.page_bytes;
  return evidence;
}

void Compared::note(std::uint64_t now_written, std::uint64_t now_compared) {
  if (repetitions == 0 || now_compared == size) written = now_written;
  bytes = now_compared;
}

std::string Compared::text() const {
  std::string text = fmt::format("{} bytes written", written);
  if (repetitions == 0 || bytes == size) return text;
  return text + fmt::format(
                    ", and {} of {} bytes compared at random places in each further repetition "
                    "(seeds 1 to {})",
                    bytes, size, repetitions);
}

std::vector<int> cpus_of(std::span<const Worker> workers) {
  std::vector<int> cpus;
  std::ranges::transform(workers, std::back_inserter(cpus), &Worker::last_cpu);
  return cpus;
}

void add_cpus(std::span<const Worker> workers, const CpuSets& sets,
              nlohmann::ordered_json& evidence) {
  evidence["cpus"] = cpus_of(workers);
  const bool shares =
      std::ranges::any_of(workers, [](const Worker& worker) { return !worker.seen_on.empty(); });
  if (!shares) return;
  nlohmann::ordered_json seen = nlohmann::ordered_json::array();
  for (const Worker& worker : workers) seen.push_back(worker.seen_on);
  evidence["cpus_seen"] = std::move(seen);
  const std::size_t at_once = most_at_once(sets);
  if (at_once == sets.size()) return;
  evidence["notes"].push_back(
      fmt::format("{} threads take turns on {} CPU{}: what is timed holds their waiting for a CPU",
                  sets.size(), at_once, at_once == 1 ? "" : "s"));
}

nlohmann::ordered_json usage_evidence(const ThreadUsage& usage, double worked_s) {
  return {{"worked_s", worked_s},
          {"user_s", usage.user_s},
          {"system_s", usage.system_s},
          {"switches", usage.switches},
          {"major_faults", usage.major_faults},
          {"minor_faults", usage.minor_faults}};
}

TrafficCheck::TrafficCheck(const Moved& so_far, const TrafficCounters& counters)
    : counters_(counters), moved_(so_far), counted_(counters.read()) {}

void TrafficCheck::report(const Moved& so_far, nlohmann::ordered_json& evidence) const {
  for (const auto& [source, bytes] : counters_.read()) {
    const auto before = counted_.find(source);
    if (before == counted_.end()) continue;
    nlohmann::ordered_json counted{{"source", source},
                                   {"bytes", bytes - before->second},
                                   {"program_bytes", so_far.program_bytes - moved_.program_bytes}};
    if (so_far.bus_bytes) counted["bus_bytes"] = *so_far.bus_bytes - moved_.bus_bytes.value_or(0);
    evidence["counters"].push_back(std::move(counted));
  }
}

}  // namespace tierscope
