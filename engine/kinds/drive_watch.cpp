#include "kinds/drive_watch.h"

#include "sampling/clock.h"

namespace tierscope {

void DriveWatch::restart() {
  before_ = counters_.read();
  process_before_ = process_bytes();
  since_s_ = now_seconds();
}

void DriveWatch::observe(nlohmann::ordered_json& evidence) const {
  const double seconds = now_seconds() - since_s_;
  const std::vector<BlockCounts> moved = difference(before_, counters_.read());
  for (const BlockCounts& one : moved) {
    evidence["devices"].push_back({{"name", one.name},
                                   {"seconds", seconds},
                                   {"reads", one.reads},
                                   {"reads_merged", one.reads_merged},
                                   {"bytes_read", one.bytes_read},
                                   {"read_ms", one.read_ms},
                                   {"writes", one.writes},
                                   {"writes_merged", one.writes_merged},
                                   {"bytes_written", one.bytes_written},
                                   {"write_ms", one.write_ms},
                                   {"busy_ms", one.busy_ms},
                                   {"in_flight_ms", one.in_flight_ms}});
  }
  if (const std::optional<DeviceBytes> sum = counters_.sum(moved)) {
    evidence["device_bytes_read"] = sum->read;
    evidence["device_bytes_written"] = sum->written;
  }
  if (const auto now = process_bytes(); now && process_before_) {
    evidence["process_bytes_read"] = now->read - process_before_->read;
    evidence["process_bytes_written"] = now->written - process_before_->written;
  }
}

void DriveWatch::observe(nlohmann::ordered_json& evidence, const AskedIo& asked) const {
  observe(evidence);
  evidence["storage_io"] = {{"files", nlohmann::ordered_json::array({asked.path})},
                            {"reads", asked.reads},
                            {"writes", asked.writes},
                            {"bytes_read", asked.bytes_read},
                            {"bytes_written", asked.bytes_written},
                            {"cached_bytes", asked.cached_bytes},
                            {"set_up_s", asked.set_up_s}};
}

}  // namespace tierscope
