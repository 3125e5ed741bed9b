// What the kernel module nvidia-fs moved between storage and GPUs, as it counts for all processes
// together: what proves the way where cuFile does not count, which it does from 1.15 on.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

namespace tierscope {

struct NvidiaFsCounts {
  bool loaded = false;
  bool counts = false;           // Its parameter rw_stats_enabled is 1; else there are no numbers.
  std::uint64_t operations = 0;  // Reads and writes that went well.
  std::uint64_t mib = 0;         // Moved by them, in MiB, rounded down for each direction.
};

// As its file of statistics says.
NvidiaFsCounts parse_nvidia_fs(std::istream& statistics);

// Now.
NvidiaFsCounts nvidia_fs_counts();

// Has nvidia_fs_counts() read another file, for tests.
void set_nvidia_fs_statistics(std::string path);

// Why it is not proven that nvidia-fs moved all of so many operations and bytes between two counts,
// with what helps; empty where it is. Without compatibility mode (`strict`) no operation goes
// through host memory as a whole; counts show that none went there for its size or alignment.
std::string not_by_nvidia_fs(bool strict, const NvidiaFsCounts& before, const NvidiaFsCounts& after,
                             std::uint64_t operations, std::uint64_t bytes);

}  // namespace tierscope
