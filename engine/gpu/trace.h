// Where the time of a measurement goes, as CUPTI tells it: calls of the runtime, copies, kernels.
#pragma once

#include <nlohmann/json.hpp>

namespace tierscope {

class Trace {
 public:
  // Records from here on if `wanted`. Throws Unavailable where CUPTI cannot be had.
  explicit Trace(bool wanted);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Ends the recording: a list, the longest total first, of {group, name, count, bytes, total_ns,
  // mean_ns, median_ns, min_ns, max_ns, stddev_ns}; null where none was wanted.
  nlohmann::ordered_json report();

 private:
  bool recording_ = false;
};

}  // namespace tierscope
