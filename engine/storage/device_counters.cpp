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

std::optional<DeviceBytes> bytes_of_drive(const std::string& root, const std::string& name) {
  std::istringstream fields(read_text(class_directory(root, name) + "/stat"));
  // Requests, merged ones, sectors and ms of reads; then the same of writes.
  std::array<std::uint64_t, 7> values{};
  for (std::uint64_t& value : values) fields >> value;
  if (!fields) return std::nullopt;
  return DeviceBytes{values[2] * kSector, values[6] * kSector};
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
    if (!below.empty()) continue;
    const std::string counting = read_text(class_directory(root, name) + "/queue/iostats");
    complete_ = complete_ && !name.empty() && counting != "0";
    if (!name.empty()) drives_.push_back(name);
  }
  std::ranges::sort(drives_);
}

std::optional<DeviceBytes> DeviceCounters::read() const {
  if (!complete_ || drives_.empty()) return std::nullopt;
  DeviceBytes sum{};
  for (const std::string& drive : drives_) {
    const std::optional<DeviceBytes> bytes = bytes_of_drive(root_, drive);
    if (!bytes) return std::nullopt;
    sum.read += bytes->read;
    sum.written += bytes->written;
  }
  return sum;
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
