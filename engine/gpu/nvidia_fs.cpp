#include "gpu/nvidia_fs.h"

#include <fmt/format.h>

#include <fstream>
#include <regex>
#include <utility>
#include <vector>

namespace tierscope {
namespace {

constexpr const char* kSwitch = "/sys/module/nvidia_fs/parameters/rw_stats_enabled";
constexpr std::uint64_t kRounding = 2;  // MiB that the two directions' numbers may lack.

std::string& statistics_path() {
  static std::string path = "/proc/driver/nvidia-fs/stats";
  return path;
}

}  // namespace

NvidiaFsCounts parse_nvidia_fs(std::istream& statistics) {
  static const std::regex counted(
      R"(^(?:Reads|Writes)\s*: n=\d+ ok=(\d+) .*\b(?:read|write)MiB=(\d+).*)");
  NvidiaFsCounts found{.loaded = true};
  for (std::string line; std::getline(statistics, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, counted)) continue;
    found.counts = true;
    found.operations += std::stoull(match[1]);
    found.mib += std::stoull(match[2]);
  }
  return found;
}

void set_nvidia_fs_statistics(std::string path) { statistics_path() = std::move(path); }

NvidiaFsCounts nvidia_fs_counts() {
  std::ifstream statistics(statistics_path());
  return statistics ? parse_nvidia_fs(statistics) : NvidiaFsCounts{};
}

std::string not_by_nvidia_fs(bool strict, const NvidiaFsCounts& before, const NvidiaFsCounts& after,
                             std::uint64_t operations, std::uint64_t bytes) {
  std::vector<std::string> needed;
  if (!strict) needed.emplace_back("set CUFILE_ALLOW_COMPAT_MODE=false");
  if (!after.loaded) needed.emplace_back("load nvidia-fs (as root: modprobe nvidia-fs)");
  if (!before.counts || !after.counts) {
    needed.push_back(fmt::format("let it count (as root: echo 1 > {})", kSwitch));
  }
  if (!needed.empty()) {
    return fmt::format("without compatibility mode, nvidia-fs' counters prove it: {}",
                       fmt::join(needed, ", "));
  }
  if (operations == 0) return "how many operations there were is not known";
  const std::uint64_t mib = bytes >> 20;
  if (after.operations >= before.operations + operations &&
      after.mib + kRounding >= before.mib + mib) {
    return "";
  }
  return fmt::format("nvidia-fs counted {} of {} operations and {} of {} MiB",
                     after.operations - before.operations, operations, after.mib - before.mib, mib);
}

}  // namespace tierscope
