#include "storage/device_uses.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "errors.h"

namespace tierscope {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  line.erase(0, line.find_first_not_of(" \t"));
  line.erase(line.find_last_not_of(" \t\n\r") + 1);
  return line;
}

std::string number_of(dev_t device) { return fmt::format("{}:{}", major(device), minor(device)); }

fs::path folder_of(dev_t device, const DevicePlaces& places) {
  const fs::path folder = places.sys + "/dev/block/" + number_of(device);
  std::error_code unknown;
  if (fs::is_directory(folder, unknown)) return folder;
  throw Unavailable(
      Cause::kOwnership,
      fmt::format("{} does not exist: nothing says who uses the device", folder.string()),
      "mount sysfs, and name a block device");
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The third field of each line is the number of the device, the fifth the directory: see
// proc_pid_mountinfo(5).
void add_mounts(dev_t device, const DevicePlaces& places, std::vector<std::string>& uses) {
  std::ifstream mounts(places.proc + "/self/mountinfo");
  const std::string wanted = number_of(device);
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, number, root, point;
    fields >> id >> parent >> number >> root >> point;
    if (number == wanted) uses.push_back("is mounted on " + point);
  }
}

void add_swap(dev_t device, const DevicePlaces& places, std::vector<std::string>& uses) {
  std::ifstream swaps(places.proc + "/swaps");
  std::string line;
  std::getline(swaps, line);  // The headings.
  while (std::getline(swaps, line)) {
    const std::string path = line.substr(0, line.find_first_of(" \t"));
    struct stat found{};
    if (stat(path.c_str(), &found) == 0 && S_ISBLK(found.st_mode) && found.st_rdev == device) {
      uses.emplace_back("holds swap space in use");
    }
  }
}

}  // namespace

std::vector<std::string> uses_of(dev_t device, const DevicePlaces& places) {
  const fs::path folder = folder_of(device, places);
  std::vector<std::string> uses;
  std::error_code missing;
  if (fs::exists(folder / "partition", missing)) uses.emplace_back("is a partition");
  for (const std::string& name : names_in(folder)) {
    if (fs::exists(folder / name / "partition", missing)) {
      uses.push_back("has the partition " + name);
    }
  }
  for (const std::string& name : names_in(folder / "holders")) uses.push_back("is used by " + name);
  add_mounts(device, places, uses);
  add_swap(device, places, uses);
  if (first_line(folder / "ro") == "1") uses.emplace_back("is read-only");
  const std::string zones = first_line(folder / "queue/zoned");
  if (!zones.empty() && zones != "none") uses.push_back("is zoned (" + zones + ")");
  return uses;
}

std::vector<std::string> lasting_names(dev_t device, const DevicePlaces& places) {
  std::vector<std::string> names;
  for (const std::string& name : names_in(places.by_id)) {
    struct stat found{};
    const std::string path = places.by_id + "/" + name;
    if (stat(path.c_str(), &found) == 0 && S_ISBLK(found.st_mode) && found.st_rdev == device) {
      names.push_back(name);
    }
  }
  const fs::path folder = folder_of(device, places);
  for (const char* place : {"device/serial", "serial"}) {
    const std::string serial = first_line(folder / place);
    if (!serial.empty() && std::find(names.begin(), names.end(), serial) == names.end()) {
      names.push_back(serial);
    }
  }
  return names;
}

}  // namespace tierscope
