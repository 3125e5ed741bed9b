#include "storage/mounts.h"

#include <fmt/format.h>

#include <sstream>

#include "memory/system_memory.h"

namespace tierscope {
namespace {

// statx has the id too, but only since Linux 5.8.
int mount_id(int file) {
  std::istringstream fields(read_text(fmt::format("/proc/self/fdinfo/{}", file)));
  for (std::string key; fields >> key;) {
    int id = 0;
    if (key == "mnt_id:" && fields >> id) return id;
  }
  return -1;
}

// The kernel writes blanks and backslashes of names in octal: "\040".
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 3 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(at + 1, 3), nullptr, 8));
      at += 3;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

// Options of the mount, then those of the file system that are not among them.
std::string merged(const std::string& own, const std::string& of_file_system) {
  std::string all = own;
  std::istringstream more(of_file_system);
  for (std::string option; std::getline(more, option, ',');) {
    if (fmt::format(",{},", all).find(fmt::format(",{},", option)) == std::string::npos) {
      all += "," + option;
    }
  }
  return all;
}

}  // namespace

std::optional<Mount> mount_of(int file, const std::string& root) {
  const int wanted = mount_id(file);
  std::istringstream lines(read_text(root + "/proc/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    // id, parent, device, root in the file system, point, options, then a varying number of tags
    const std::size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    Mount mount;
    std::string skipped;
    std::string of_file_system;
    std::istringstream(line) >> mount.id >> skipped >> skipped >> skipped >> mount.point >>
        mount.options;
    if (mount.id != wanted) continue;
    std::istringstream(line.substr(separator + 3)) >> mount.type >> mount.source >> of_file_system;
    mount.point = unescaped(mount.point);
    mount.source = unescaped(mount.source);
    mount.options = merged(mount.options, of_file_system);
    return mount;
  }
  return std::nullopt;
}

}  // namespace tierscope
