// Bytes that drives moved, as the kernel counts them: a cross-check of what a measurement asked
// for, never a part of a figure.
//
// Sources: /sys/block/*/stat (the kernel's Documentation/block/stat.rst): sectors of 512 bytes,
// counted when a request ends, of everybody; and /proc/self/io (proc_pid_io(5)), of this process
// alone and of all devices.
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

// What one block device did, an array above others or a drive; `merged` are requests that were made
// part of another one.
struct BlockCounts {
  std::string name;
  std::uint64_t reads = 0;
  std::uint64_t reads_merged = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t read_ms = 0;  // Of all reads together, from when they were queued to their ends.
  std::uint64_t writes = 0;
  std::uint64_t writes_merged = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t write_ms = 0;
  std::uint64_t busy_ms = 0;       // While at least one request was in flight.
  std::uint64_t in_flight_ms = 0;  // The integral of requests in flight over time.
};

class DeviceCounters {
 public:
  // Finds the drives that data of these devices lies on: of a partition its disk, of an md or dm
  // device its members, down to devices that have none below them. Each drive counts once, however
  // many of the devices lie on it. `root` stands before the kernel's paths, for trees of tests.
  explicit DeviceCounters(std::span<const dev_t> devices, const std::string& root = "");

  // The counts of each array (md, dm) above drives, and of each drive, since they appeared; make
  // the difference of two. Some 15 us a device. What does not count is left out.
  std::vector<BlockCounts> read() const;

  // What all drives moved, of such a difference. Nothing where a device is on no drive that the
  // kernel shows (tmpfs, NFS, overlays) or where a drive does not count (its queue/iostats is 0): a
  // sum that misses a part would mislead.
  std::optional<DeviceBytes> sum(std::span<const BlockCounts> counts) const;

  // The drives' names, sorted: "nvme0n1", "sda".
  const std::vector<std::string>& drives() const { return drives_; }

 private:
  std::string root_;
  std::vector<std::string> drives_;
  std::vector<std::string> arrays_;
  bool complete_ = true;  // Every device is on drives that count.
};

// What happened between two readings.
std::vector<BlockCounts> difference(std::span<const BlockCounts> before,
                                    std::span<const BlockCounts> after);

// What this process has had drives move since it began: read or written around the page cache, read
// into it, and pages that it changed there, whenever they are written. Nothing where the kernel
// does not count for each process (CONFIG_TASK_IO_ACCOUNTING).
std::optional<DeviceBytes> process_bytes(const std::string& root = "");

// The device that an open file's data is on, or which an open block device is. btrfs and its like
// give their files a number of their own; there it is the device that mountinfo names as mounted.
dev_t device_of(int file, const std::string& root = "");

}  // namespace tierscope
