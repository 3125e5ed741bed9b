// How long a measurement and its samples last.
#pragma once

namespace tierscope {

struct SamplingRule {
  double precision;  // Asked half-width of the 95% interval, as a share of the median. Whoever
                     // schedules the repetitions stops by it; the engine does not.
  double budget_s;   // Wall-clock seconds of all repetitions.
  double sample_s;   // Seconds that one sample should last.
};

}  // namespace tierscope
