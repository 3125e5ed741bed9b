// Rows of kinds whose threads all work for a window of time.
#pragma once

#include <algorithm>
#include <span>

#include "harness/kind.h"
#include "sampling/clock.h"
#include "sampling/rule.h"
#include "threads/window.h"

namespace tierscope {

// Seconds of a window: what was asked for, and enough for the clock.
inline double window_seconds(const SamplingRule& rule) {
  return std::max(rule.sample_s, shortest_sample());
}

// Lets all work for one window; the row has no values yet.
inline Row window_row(Team& team, std::span<Worker> workers, double window_s) {
  const double start = work_for(team, workers, window_s);
  return {.start_s = start,
          .duration_s = window_s,
          .values = {},
          .lost_share = max_lost_share(workers)};
}

}  // namespace tierscope
