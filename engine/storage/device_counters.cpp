#include "storage/device_counters.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "memory/system_memory.h"
#include "storage/mounts.h"

namespace tierscope {
namespace {

constexpr std::uint64_t kSector = 512;  // sysfs counts these whatever the drive's own size is.

std::string class_directory(const std::string& root, const std::string& name) {
  return root + "/sys/class/block/" + name;
}

// The name of a block device by its number; empty where the kernel has none.
std::string name_of_device(const std::string& root, dev_t device) {
  std::error_code error;
  const std::filesystem::path place = std::filesystem::canonical(
      fmt::format("{}/sys/dev/block/{}:{}", root, major(device), minor(device)), error);
  return error ? "" : place.filename().string();
}

// Of a partition its disk, of md and dm their members; empty of a drive.
std::vector<std::string> devices_below(const std::string& root, const std::string& name) {
  const std::string directory = class_directory(root, name);
  std::error_code error;
  if (std::filesystem::exists(directory + "/partition", error)) {
    const std::filesystem::path place = std::filesystem::canonical(directory, error);
    if (!error) return {place.parent_path().filename()};
  }
  std::vector<std::string> members;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/slaves", error)) {
    members.push_back(entry.path().filename());
  }
  return members;
}

std::optional<BlockCounts> counts_of(const std::string& root, const std::string& name) {
  std::istringstream fields(read_text(class_directory(root, name) + "/stat"));
  BlockCounts found{.name = name};
  std::uint64_t in_flight = 0;
  fields >> found.reads >> found.reads_merged >> found.bytes_read >> found.read_ms;
  fields >> found.writes >> found.writes_merged >> found.bytes_written >> found.write_ms;
  fields >> in_flight >> found.busy_ms >> found.in_flight_ms;
  if (!fields) return std::nullopt;
  found.bytes_read *= kSector;
  found.bytes_written *= kSector;
  return found;
}

bool counts(const std::string& root, const std::string& name) {
  return read_text(class_directory(root, name) + "/queue/iostats") != "0";
}

// "254:0"; nothing of any other text.
std::optional<dev_t> parse_number(const std::string& text) {
  unsigned its_major = 0;
  unsigned its_minor = 0;
  char colon = 0;
  std::istringstream fields(text);
  if (!(fields >> its_major >> colon >> its_minor) || colon != ':') return std::nullopt;
  return makedev(its_major, its_minor);
}

}  // namespace

DeviceCounters::DeviceCounters(std::span<const dev_t> devices, const std::string& root)
    : root_(root) {
  std::vector<std::string> pending;
  for (const dev_t device : devices) pending.push_back(name_of_device(root, device));
  std::vector<std::string> seen;
  while (!pending.empty()) {
    const std::string name = pending.back();
    pending.pop_back();
    if (std::ranges::find(seen, name) != seen.end()) continue;
    seen.push_back(name);
    const std::vector<std::string> below =
        name.empty() ? std::vector<std::string>{} : devices_below(root, name);
    pending.insert(pending.end(), below.begin(), below.end());
    std::error_code error;
    const bool partition =
        std::filesystem::exists(class_directory(root, name) + "/partition", error);
    if (!below.empty() && !partition) arrays_.push_back(name);
    if (!below.empty()) continue;
    complete_ = complete_ && !name.empty() && counts(root, name);
    if (!name.empty()) drives_.push_back(name);
  }
  std::ranges::sort(drives_);
  std::ranges::sort(arrays_);
}

std::vector<BlockCounts> DeviceCounters::read() const {
  std::vector<BlockCounts> all;
  for (const auto* const names : {&arrays_, &drives_}) {
    for (const std::string& name : *names) {
      std::optional<BlockCounts> found = counts_of(root_, name);
      if (found && counts(root_, name)) all.push_back(std::move(*found));
    }
  }
  return all;
}

std::optional<DeviceBytes> DeviceCounters::sum(std::span<const BlockCounts> counts) const {
  if (!complete_ || drives_.empty()) return std::nullopt;
  DeviceBytes sum{};
  for (const std::string& drive : drives_) {
    const auto found = std::ranges::find(counts, drive, &BlockCounts::name);
    if (found == counts.end()) return std::nullopt;
    sum.read += found->bytes_read;
    sum.written += found->bytes_written;
  }
  return sum;
}

std::vector<BlockCounts> difference(std::span<const BlockCounts> before,
                                    std::span<const BlockCounts> after) {
  static constexpr std::array kCounters{&BlockCounts::reads,         &BlockCounts::reads_merged,
                                        &BlockCounts::bytes_read,    &BlockCounts::read_ms,
                                        &BlockCounts::writes,        &BlockCounts::writes_merged,
                                        &BlockCounts::bytes_written, &BlockCounts::write_ms,
                                        &BlockCounts::busy_ms,       &BlockCounts::in_flight_ms};
  std::vector<BlockCounts> found;
  for (const BlockCounts& now : after) {
    const auto then = std::ranges::find(before, now.name, &BlockCounts::name);
    if (then == before.end()) continue;
    BlockCounts& moved = found.emplace_back(now);
    for (const auto counter : kCounters) moved.*counter -= (*then).*counter;
  }
  return found;
}

std::optional<DeviceBytes> process_bytes(const std::string& root) {
  std::istringstream lines(read_text(root + "/proc/self/io"));
  std::optional<std::uint64_t> read;
  std::optional<std::uint64_t> written;
  std::string name;
  for (std::uint64_t value = 0; lines >> name >> value;) {
    if (name == "read_bytes:") read = value;
    if (name == "write_bytes:") written = value;
  }
  if (!read || !written) return std::nullopt;
  return DeviceBytes{.read = *read, .written = *written};
}

dev_t device_of(int file, const std::string& root) {
  struct stat status{};
  if (fstat(file, &status) != 0) return 0;
  if (S_ISBLK(status.st_mode)) return status.st_rdev;
  if (major(status.st_dev) != 0) return status.st_dev;
  const std::optional<Mount> mount = mount_of(file, root);
  if (!mount || !mount->source.starts_with("/dev/")) return status.st_dev;
  std::error_code error;  // /dev/mapper has links to the devices' own names.
  const std::filesystem::path place = std::filesystem::canonical(root + mount->source, error);
  const std::string name = (error ? std::filesystem::path(mount->source) : place).filename();
  return parse_number(read_text(class_directory(root, name) + "/dev")).value_or(status.st_dev);
}

}  // namespace tierscope
