#include "memory/traffic_counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr const char* kDevices = "/sys/bus/event_source/devices";
constexpr const char* kResctrl = "/sys/fs/resctrl";
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

// Bytes that one count of an event stands for, by its .scale and .unit.
std::optional<double> bytes_per_count(const std::string& event) {
  static const std::map<std::string, double> units{
      {"Bytes", 1.0}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}};
  const auto unit = units.find(read_text(event + ".unit"));
  const double scale = std::strtod(read_text(event + ".scale").c_str(), nullptr);
  if (unit == units.end() || scale <= 0) return std::nullopt;
  return scale * unit->second;
}

// Events of reads and of writes; totals and parts of them (graphics, I/O) would count twice.
bool counts_accesses(const std::string& event) {
  return event.find("read") != std::string::npos || event.find("write") != std::string::npos;
}

int open_event(unsigned type, const PerfConfig& config, int cpu) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config.words[0];
  attributes.config1 = config.words[1];
  attributes.config2 = config.words[2];
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  constexpr int kEveryProcess = -1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, kEveryProcess, cpu, -1, PERF_FLAG_FD_CLOEXEC));
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

std::optional<double> whole_number(const std::string& text) {
  unsigned long long value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc()) return std::nullopt;  // "Unavailable", "Error".
  return static_cast<double>(value);
}

}  // namespace

std::optional<PerfConfig> encode_perf_event(std::string_view terms,
                                            const std::string& format_directory) {
  static constexpr std::array<std::string_view, 3> kWords{"config", "config1", "config2"};
  PerfConfig config{};
  while (!terms.empty()) {
    const std::string_view term = terms.substr(0, terms.find(','));
    terms.remove_prefix(std::min(terms.size(), term.size() + 1));
    const std::string name(term.substr(0, term.find('=')));
    const std::string format = read_text(fmt::format("{}/{}", format_directory, name));
    const auto* const word = std::ranges::find(kWords, format.substr(0, format.find(':')));
    const bool has_value = name.size() < term.size();
    const std::string digits(has_value ? term.substr(name.size() + 1) : "1");
    char* end = nullptr;
    unsigned long long value = std::strtoull(digits.c_str(), &end, 0);
    if (word == kWords.end() || digits.empty() || *end != '\0') return std::nullopt;
    for (const int bit : parse_number_list(std::string_view(format).substr(word->size() + 1))) {
      config.words[static_cast<std::size_t>(word - kWords.begin())] |=
          (value & 1U) << static_cast<unsigned>(bit);
      value >>= 1U;
    }
  }
  return config;
}

TrafficCounters::TrafficCounters(const std::string& root) {
  find_perf(root);
  find_resctrl(root);
}

TrafficCounters::~TrafficCounters() { close_perf(); }

void TrafficCounters::close_perf() {
  for (const PerfCounter& counter : perf_) close(counter.file);
  perf_.clear();
}

// All or nothing: a sum without some of the memory controllers would be wrong.
void TrafficCounters::find_perf(const std::string& root) {
  const auto pmus = memory_pmus(root + kDevices);
  CounterSource source{.name = "memory controllers", .available = false};
  source.reason =
      "this kernel shows no counters of memory controllers, as in most virtual machines";
  for (const std::string_view kind : kMemoryPmus) {
    const auto found = pmus.find(kind);
    if (found == pmus.end()) continue;
    std::vector<std::string> events;
    for (const std::string& name : found->second) {
      source.reason = open_perf(fmt::format("{}{}/{}", root, kDevices, name), events);
      if (!source.reason.empty()) break;
    }
    if (source.reason.empty()) {
      perf_name_ = fmt::format("{}: {}", kind, joined(events));
      source.available = true;
      source.detail = fmt::format("{} of {}", joined(events), joined(found->second));
      break;
    }
    close_perf();
    source.remedy = source.reason.find("permitted") == std::string::npos ? "" : kPermit;
  }
  sources_.push_back(source);
}

// Opens a PMU's events on the CPUs that it counts by, adds their names; returns what went wrong.
std::string TrafficCounters::open_perf(const std::string& device,
                                       std::vector<std::string>& events) {
  const std::string name = std::filesystem::path(device).filename();
  const std::vector<int> cpus = parse_number_list(read_text(device + "/cpumask"));
  const std::optional<double> type = whole_number(read_text(device + "/type"));
  if (!type || cpus.empty()) return name + " names no type and no CPUs to count by";
  const std::size_t before = perf_.size();
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
      perf_.push_back({opened, *bytes});
    }
    if (std::ranges::find(events, event) == events.end()) events.push_back(event);
  }
  return perf_.size() == before ? name + " names no event that is in bytes" : "";
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
  struct Value {
    std::uint64_t count, enabled, running;
  };
  std::map<std::string, double> found;
  double bytes = 0;
  bool whole = !perf_.empty();
  for (const PerfCounter& counter : perf_) {
    Value value{};
    // Where others use the PMU too, the kernel lets them take turns, and a part was not counted.
    whole = whole && ::read(counter.file, &value, sizeof value) == sizeof value &&
            value.running == value.enabled;
    bytes += static_cast<double>(value.count) * counter.bytes_per_count;
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

const TrafficCounters& traffic_counters() {
  static const TrafficCounters counters;
  return counters;
}

}  // namespace tierscope
