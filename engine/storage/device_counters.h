// Bytes that drives moved, as the kernel counts them: a cross-check of what a measurement asked
// for, never a part of a figure.
//
// Source: /sys/block/*/stat (the kernel's Documentation/block/stat.rst): sectors of 512 bytes,
// counted when a request ends, of everybody, not of this process alone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tierscope {

struct DeviceBytes {
  std::uint64_t read;
  std::uint64_t written;
};

class DeviceCounters {
 public:
  // Finds the drives that data of these devices lies on: of a partition its disk, of an md or dm
  // device its members, down to devices that have none below them. Each drive counts once, however
  // many of the devices lie on it. `root` stands before the kernel's paths, for trees of tests.
  explicit DeviceCounters(std::span<const dev_t> devices, const std::string& root = "");

  // What all drives moved since they appeared; make the difference of two. Some 15 us a drive.
  // Nothing where a device is on no drive that the kernel shows (tmpfs, NFS, overlays) or where a
  // drive does not count (its queue/iostats is 0): a sum that misses a part would mislead.
  std::optional<DeviceBytes> read() const;

  // The drives' names, sorted: "nvme0n1", "sda".
  const std::vector<std::string>& drives() const { return drives_; }

 private:
  std::string root_;
  std::vector<std::string> drives_;
  bool complete_ = true;  // Every device is on drives that count.
};

// The device that an open file's data is on, or which an open block device is. btrfs and its like
// give their files a number of their own; there it is the device that mountinfo names as mounted.
dev_t device_of(int file, const std::string& root = "");

}  // namespace tierscope
