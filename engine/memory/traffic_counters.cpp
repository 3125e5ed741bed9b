#include "memory/traffic_counters.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>

#include "memory/perf_events.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr const char* kDevices = "/sys/bus/event_source/devices";
constexpr const char* kResctrl = "/sys/fs/resctrl";
constexpr const char* kCpus = "/sys/devices/system/cpu";
constexpr const char* kControllers = "memory controllers";
constexpr const char* kCxlDevices = "CXL devices";
constexpr const char* kPermit = "sysctl kernel.perf_event_paranoid=0 (as root)";

// Names, or parts of names, of PMUs that sit at memory. The first kind that can be read counts and
// the others do not: Intel's free-running counters count what its programmable ones count.
constexpr std::array<std::string_view, 8> kMemoryPmus{"uncore_imc_free_running",
                                                      "uncore_imc",
                                                      "amd_umc",
                                                      "amd_df",
                                                      "ddr",
                                                      "dmc",
                                                      "cmn",
                                                      "nvidia_scf"};

std::vector<std::string> entries(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// PMUs at memory by kind, "uncore_imc_3" under "uncore_imc".
std::map<std::string_view, std::vector<std::string>> memory_pmus(const std::string& directory) {
  std::map<std::string_view, std::vector<std::string>> found;
  for (const std::string& name : entries(directory)) {
    const auto* const kind = std::ranges::find_if(
        kMemoryPmus, [&](std::string_view part) { return name.find(part) != std::string::npos; });
    if (kind != kMemoryPmus.end()) found[*kind].push_back(name);
  }
  return found;
}

std::optional<double> whole_number(const std::string& text) {
  unsigned long long value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc()) return std::nullopt;  // "Unavailable", "Error".
  return static_cast<double>(value);
}

// The first CPU whose last-level cache is that of a domain of resctrl, "mon_L3_01"; -1 if none is.
int cpu_of_domain(const std::string& root, const std::string& domain) {
  const std::size_t digits = domain.find_last_of('_') + 1;
  const std::optional<double> wanted =
      whole_number(domain.substr(std::min(domain.size(), domain.find_first_not_of('0', digits))));
  for (const int cpu : parse_number_list(read_text(root + kCpus + "/online"))) {
    const auto cache = fmt::format("{}{}/cpu{}/cache/index3/id", root, kCpus, cpu);
    if (whole_number(read_text(cache)) == wanted.value_or(0)) return cpu;
  }
  return -1;
}

double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// The group that this process is monitored in ("res:/group", "mon:group"), as a directory below
// resctrl's.
std::string monitored_group(const std::string& root) {
  const std::string text = read_text(root + "/proc/self/cpu_resctrl_groups");
  const auto value = [&](std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == std::string::npos) return std::string();
    const std::size_t begin = at + key.size();
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  const std::string control = value("res:");
  const std::string monitor = value("mon:");
  return (control.empty() || control == "/" ? "" : control) +
         (monitor.empty() || monitor == "/" ? "" : "/mon_groups/" + monitor);
}

}  // namespace

TrafficCounters::TrafficCounters(const std::string& root) : root_(root) {
  find_perf(root);
  find_cxl(root);
  find_resctrl(root);
}

TrafficCounters::~TrafficCounters() {
  close_perf(perf_);
  close_perf(cxl_);
}

void TrafficCounters::close_perf(std::vector<PerfCounter>& counters) {
  for (const PerfCounter& counter : counters) close(counter.file);
  counters.clear();
}

// All or nothing: a sum without some of the memory controllers would be wrong.
void TrafficCounters::find_perf(const std::string& root) {
  const auto pmus = memory_pmus(root + kDevices);
  CounterSource source{.name = kControllers, .available = false};
  source.reason =
      "this kernel shows no counters of memory controllers, as in most virtual machines";
  for (const std::string_view kind : kMemoryPmus) {
    const auto found = pmus.find(kind);
    if (found == pmus.end()) continue;
    std::vector<std::string> events;
    for (const std::string& name : found->second) {
      source.reason = open_perf(fmt::format("{}{}/{}", root, kDevices, name), events, perf_);
      if (!source.reason.empty()) break;
    }
    if (source.reason.empty()) {
      perf_name_ = fmt::format("{}: {}", kind, joined(events));
      source.available = true;
      source.detail = fmt::format("{} of {}", joined(events), joined(found->second));
      break;
    }
    close_perf(perf_);
    source.remedy = source.reason.find("permitted") == std::string::npos ? "" : kPermit;
  }
  sources_.push_back(source);
}

void TrafficCounters::find_cxl(const std::string& root) {
  CounterSource source{.name = kCxlDevices, .available = false};
  std::vector<std::string> events;
  std::vector<std::string> found;
  for (const std::string& name : entries(root + kDevices)) {
    if (!name.starts_with("cxl_pmu")) continue;
    found.push_back(name);
    const std::string reason =
        open_perf(fmt::format("{}{}/{}", root, kDevices, name), events, cxl_);
    if (source.reason.empty()) source.reason = reason;
  }
  if (found.empty()) {
    source.reason = "no CXL device here has counters that the kernel knows (cxl_pmu, Linux 6.5)";
  } else if (source.reason.empty()) {
    source.available = true;
    source.detail = fmt::format("{} of {}", joined(events), joined(found));
  } else {
    close_perf(cxl_);
    source.remedy = source.reason.find("permitted") == std::string::npos ? "" : kPermit;
  }
  sources_.push_back(source);
}

// Opens a PMU's events on the CPUs that it counts by, adds their names; returns what went wrong.
std::string TrafficCounters::open_perf(const std::string& device, std::vector<std::string>& events,
                                       std::vector<PerfCounter>& counters) {
  const std::string name = std::filesystem::path(device).filename();
  const std::vector<int> cpus = parse_number_list(read_text(device + "/cpumask"));
  const std::optional<double> type = whole_number(read_text(device + "/type"));
  if (!type || cpus.empty()) return name + " names no type and no CPUs to count by";
  const std::size_t before = counters.size();
  for (const std::string& event : entries(device + "/events")) {
    const std::string file = fmt::format("{}/events/{}", device, event);
    const std::optional<double> bytes = bytes_per_count(file);
    if (!bytes || !counts_accesses(event)) continue;
    const auto config = encode_perf_event(read_text(file), device + "/format");
    if (!config) return fmt::format("{} of {} is encoded by no known format", event, name);
    for (const int cpu : cpus) {
      const int opened = open_event(static_cast<unsigned>(*type), *config, cpu);
      if (opened < 0) {
        const bool refused = errno == EACCES || errno == EPERM;
        return fmt::format("{} of {}: {}", event, name,
                           refused ? "not permitted to this user" : std::strerror(errno));
      }
      counters.push_back({opened, *bytes, fmt::format("{}/{}", name, event), cpu});
    }
    if (std::ranges::find(events, event) == events.end()) events.push_back(event);
  }
  return counters.size() == before ? name + " names no event that is in bytes" : "";
}

void TrafficCounters::find_resctrl(const std::string& root) {
  CounterSource source{.name = "resctrl", .available = false};
  const std::string mounted = root + kResctrl;
  const std::string data = mounted + monitored_group(root) + "/mon_data";
  for (const std::string& domain : entries(data)) {
    for (const char* metric : {"mbm_total_bytes", "mbm_local_bytes"}) {
      const std::string file = fmt::format("{}/{}/{}", data, domain, metric);
      if (whole_number(read_text(file))) resctrl_[metric].push_back(file);
    }
  }
  if (!resctrl_.empty()) {
    std::vector<std::string> metrics;
    for (const auto& [metric, files] : resctrl_) metrics.push_back(metric);
    source.available = true;
    source.detail = joined(metrics);
  } else if (!std::filesystem::exists(mounted)) {
    source.reason = "this CPU or kernel has no resctrl";
  } else if (!std::filesystem::exists(mounted + "/schemata")) {
    source.reason = "resctrl is not mounted";
    source.remedy = fmt::format("mount -t resctrl resctrl {} (as root)", kResctrl);
  } else {
    source.reason = "resctrl does not count memory bandwidth here (no mbm_total_bytes)";
  }
  sources_.push_back(source);
}

std::map<std::string, double> TrafficCounters::read() const {
  std::map<std::string, double> found;
  double bytes = 0;
  bool whole = !perf_.empty();
  for (const PerfCounter& counter : perf_) {
    const std::optional<PerfValue> value = read_event(counter.file);
    whole = whole && value.has_value();
    if (value) bytes += static_cast<double>(value->count) * counter.bytes_per_count;
  }
  if (whole) found[perf_name_] = bytes;
  for (const auto& [metric, files] : resctrl_) {
    double total = 0;
    const bool readable = std::ranges::all_of(files, [&](const std::string& file) {
      const std::optional<double> value = whole_number(read_text(file));
      total += value.value_or(0);
      return value.has_value();
    });
    if (readable) found[fmt::format("resctrl: {}", metric)] = total;
  }
  return found;
}

std::vector<TrafficCount> TrafficCounters::counts() const {
  std::vector<TrafficCount> found;
  add_perf(kControllers, perf_, found);
  add_perf(kCxlDevices, cxl_, found);
  // A group's counts include those of its monitoring groups.
  add_resctrl("", found);
  for (const std::string& group : entries(root_ + kResctrl)) {
    if (group != "info" && group != "mon_data" && group != "mon_groups") {
      add_resctrl("/" + group, found);
    }
  }
  return found;
}

void TrafficCounters::add_perf(const std::string& source, const std::vector<PerfCounter>& counters,
                               std::vector<TrafficCount>& counts) {
  for (const PerfCounter& counter : counters) {
    if (const std::optional<PerfValue> value = read_event(counter.file)) {
      counts.push_back({.source = source,
                        .counter = counter.name,
                        .cpu = counter.cpu,
                        .bytes = static_cast<double>(value->count) * counter.bytes_per_count,
                        .seconds = static_cast<double>(value->enabled) * 1e-9});
    }
  }
}

void TrafficCounters::add_resctrl(const std::string& group,
                                  std::vector<TrafficCount>& counts) const {
  const std::string data = root_ + kResctrl + group + "/mon_data";
  for (const std::string& domain : entries(data)) {
    if (!domain.starts_with("mon_L3_")) continue;
    for (const char* metric : {"mbm_total_bytes", "mbm_local_bytes"}) {
      const auto bytes = whole_number(read_text(fmt::format("{}/{}/{}", data, domain, metric)));
      if (!bytes) continue;
      counts.push_back({.source = "resctrl",
                        .counter = fmt::format("{}/{}/{}", group, domain, metric),
                        .cpu = cpu_of_domain(root_, domain),
                        .bytes = *bytes,
                        .seconds = seconds_now()});
    }
  }
}

const TrafficCounters& traffic_counters() {
  static const TrafficCounters counters;
  return counters;
}

}  // namespace tierscope
