// What lasts as long as a repetition on GPUs: the issuing thread's CPU and its current GPU, the
// watch on clocks and links, the trace.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/monitor.h"
#include "gpu/range.h"
#include "gpu/specs.h"
#include "gpu/trace.h"

namespace tierscope {

// What evidence says of the clock of events.
inline constexpr const char* kEventClock = "CUDA events, about 0.5 us steps";

class Observation {
 public:
  // Until this is destroyed, the calling thread runs on the first of common's CPUs, and `current`
  // is its GPU. Throws Unavailable.
  Observation(const std::string& name, const std::vector<int>& gpus, int current,
              const GpuCommon& common);

  // Forgets what was seen so far of clocks and links, so that set-up does not count.
  void restart() { monitor_.restart(); }
  // The watch on clocks and links ends. Call it as soon as the last sample is taken: a GPU that
  // idles lowers its clocks.
  void stop_watching() { monitor_.stop(); }

  // Adds cpus, gpus, notes and the trace to `evidence`.
  void report(nlohmann::ordered_json& evidence, std::vector<std::string> notes);

 private:
  NamedRange range_;
  Trace trace_;
  OnCpu on_cpu_;
  Monitor monitor_;
  OnGpu on_gpu_;
};

}  // namespace tierscope
