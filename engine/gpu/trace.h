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

  // Ends the recording and adds to evidence, where it was wanted: "trace", a list, the longest
  // total first, of {group, name, count, bytes, total_ns, mean_ns, median_ns, min_ns, max_ns,
  // stddev_ns, each_bytes}, operations of other sizes apart; "copies_overlap", see
  // sampling/overlap.h.
  void report(nlohmann::ordered_json& evidence);

 private:
  bool recording_ = false;
};

}  // namespace tierscope
