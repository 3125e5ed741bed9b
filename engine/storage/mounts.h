// What is mounted where, as /proc/self/mountinfo says; see proc_pid_mountinfo(5).
#pragma once

#include <optional>
#include <string>

namespace tierscope {

struct Mount {
  int id;
  std::string point;    // Directory that it is mounted on.
  std::string type;     // "ext4", "nfs4", "tmpfs".
  std::string source;   // "/dev/nvme0n1p1", "server:/export", "tmpfs".
  std::string options;  // Of the mount and of its file system: "rw,relatime,discard".
};

// The mount that an open file is on; nothing where /proc does not say. `root` stands before the
// path of mountinfo, for trees of tests.
std::optional<Mount> mount_of(int file, const std::string& root = "");

}  // namespace tierscope
