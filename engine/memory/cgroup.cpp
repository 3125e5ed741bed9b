#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "memory/system_memory.h"

namespace tierscope {
namespace {

bool has_item(std::string_view list, std::string_view item) {
  std::istringstream items{std::string(list)};
  for (std::string each; std::getline(items, each, ',');) {
    if (each == item) return true;
  }
  return false;
}

struct CgroupMount {
  std::string root;   // The cgroup that the mount shows at its top.
  std::string point;  // Where it is mounted.
};

// Mounts of cgroup v2 (no controller named) or of a v1 controller.
std::optional<CgroupMount> find_mount(std::string_view mountinfo, std::string_view v1_controller) {
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream head(line.substr(0, dash));
    std::istringstream tail(line.substr(dash + 3));
    std::string skipped;
    CgroupMount mount;
    head >> skipped >> skipped >> skipped >> mount.root >> mount.point;
    std::string type;
    std::string options;
    tail >> type >> skipped >> options;
    const bool wanted = v1_controller.empty()
                            ? type == "cgroup2"
                            : type == "cgroup" && has_item(options, v1_controller);
    if (wanted) return mount;
  }
  return std::nullopt;
}

// The path of a process's cgroup below the mount, "" for its top. A container may see only a part
// of the tree, and its own place in it under a name from outside: the top is its own cgroup then.
std::string below_mount(const CgroupMount& mount, const std::string& path) {
  if (path == "/" || path.find("/..") != std::string::npos) return "";
  if (mount.root == "/") return path;
  if (path.starts_with(mount.root + "/")) return path.substr(mount.root.size());
  return "";
}

std::optional<std::size_t> read_number(const std::string& path) {
  const std::string text = read_text(path);
  if (text.empty() || text == "max") return std::nullopt;
  return std::stoull(text);
}

// File cache of a cgroup and its descendants that gives way before anything is refused.
std::size_t reclaimable_bytes(const std::string& directory) {
  std::istringstream lines(read_text(directory + "/memory.stat"));
  std::size_t own = 0;
  std::size_t total = 0;  // cgroup v1 states descendants apart, under these names.
  std::string name;
  for (std::size_t bytes = 0; lines >> name >> bytes;) {
    if (name == "inactive_file") own += bytes;
    if (name == "active_file") own += bytes / 2;
    if (name == "total_inactive_file") total += bytes;
    if (name == "total_active_file") total += bytes / 2;
  }
  return std::max(own, total);
}

}  // namespace

std::vector<std::string> cgroup_directories(std::string_view cgroup, std::string_view mountinfo,
                                            std::string_view controller) {
  std::vector<std::string> directories;
  std::istringstream lines{std::string(cgroup)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !has_item(controllers, controller)) continue;
    const auto mount = find_mount(mountinfo, controllers.empty() ? "" : controller);
    if (!mount) continue;
    std::string below = below_mount(*mount, line.substr(second + 1));
    while (!below.empty()) {
      directories.push_back(mount->point + below);
      below.resize(below.rfind('/'));
    }
    directories.push_back(mount->point);
  }
  return directories;
}

std::optional<CgroupRoom> cgroup_room(const std::string& resource) {
  std::optional<CgroupRoom> tightest;
  const std::string controller = resource.substr(0, resource.find('.'));
  for (const std::string& directory : cgroup_directories(
           read_text("/proc/self/cgroup"), read_text("/proc/self/mountinfo"), controller)) {
    const std::string stem = fmt::format("{}/{}", directory, resource);
    // Above memory.high nothing is refused, but the process is slowed down: no place to measure.
    for (const char* name : {".max", ".high", ".limit_in_bytes"}) {
      const auto limit = read_number(stem + name);
      if (!limit) continue;
      const bool v1 = std::string_view(name) == ".limit_in_bytes";
      const std::size_t used =
          read_number(stem + (v1 ? ".usage_in_bytes" : ".current")).value_or(0);
      std::size_t available = *limit > used ? *limit - used : 0;
      constexpr std::size_t kUnlimited = std::size_t{1} << 62;
      if (available >= kUnlimited) continue;  // cgroup v1 writes "no limit" as a huge number.
      if (resource == "memory") available += std::min(used, reclaimable_bytes(directory));
      if (!tightest || available < tightest->available) {
        tightest = CgroupRoom{stem + name, *limit, available};
      }
    }
  }
  return tightest;
}

}  // namespace tierscope
