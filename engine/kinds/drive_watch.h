// The evidence "devices", "device_bytes_*" and "process_bytes_*": what drives below files moved
// while samples were taken, for all programs and for this one.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "storage/device_counters.h"

namespace tierscope {

class DriveWatch {
 public:
  explicit DriveWatch(std::span<const dev_t> devices) : counters_(devices) { restart(); }

  // Counts from now on.
  void restart();

  // Adds what was counted to the evidence.
  void observe(nlohmann::ordered_json& evidence) const;

  const DeviceCounters& counters() const { return counters_; }

 private:
  DeviceCounters counters_;
  std::vector<BlockCounts> before_;
  std::optional<DeviceBytes> process_before_;
  double since_s_ = 0;
};

}  // namespace tierscope
