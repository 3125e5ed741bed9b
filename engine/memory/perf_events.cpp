#include "memory/perf_events.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "memory/system_memory.h"
#include "sizes.h"

namespace tierscope {
namespace {

// Messages between hosts and CXL memory that carry data: "s2m_drs_memdata", "m2s_rwd_memwr"
// (CXL 3.0, tables 3-37 and 3-46).
bool carries_line(const std::string& event) {
  return event.starts_with("s2m_drs_memdata") || event.starts_with("m2s_rwd_memwr");
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

std::optional<double> bytes_per_count(const std::string& event) {
  if (carries_line(std::filesystem::path(event).filename())) return kCacheLine;
  static const std::map<std::string, double> units{
      {"Bytes", 1.0}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}};
  const auto unit = units.find(read_text(event + ".unit"));
  const double scale = std::strtod(read_text(event + ".scale").c_str(), nullptr);
  if (unit == units.end() || scale <= 0) return std::nullopt;
  return scale * unit->second;
}

bool counts_accesses(const std::string& event) {
  return event.find("read") != std::string::npos || event.find("write") != std::string::npos ||
         carries_line(event);
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

std::optional<PerfValue> read_event(int file) {
  PerfValue value{};
  if (read(file, &value, sizeof value) != sizeof value) return std::nullopt;
  return value.running == value.enabled ? std::optional(value) : std::nullopt;
}

}  // namespace tierscope
