// What drives below files moved while samples were taken, for all programs and for this one (the
// evidence "devices", "device_bytes_*" and "process_bytes_*"), beside what a kind asked for
// ("storage_io").
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/device_counters.h"

namespace tierscope {

// What a repetition asked of its files; `io` has more to say.
struct AskedIo {
  std::string path;  // Of the file, or of the directory of all files.
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t cached_bytes = 0;  // Most that the page cache kept before they were read.
  double set_up_s = 0;
};

class DriveWatch {
 public:
  explicit DriveWatch(std::span<const dev_t> devices) : counters_(devices) { restart(); }

  // Counts from now on.
  void restart();

  // Adds what was counted to the evidence.
  void observe(nlohmann::ordered_json& evidence) const;
  void observe(nlohmann::ordered_json& evidence, const AskedIo& asked) const;

  const DeviceCounters& counters() const { return counters_; }

 private:
  DeviceCounters counters_;
  std::vector<BlockCounts> before_;
  std::optional<DeviceBytes> process_before_;
  double since_s_ = 0;
};

}  // namespace tierscope
