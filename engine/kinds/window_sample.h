// Samples of kinds whose threads all work for a window of time.
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

// The same where so many threads take turns on a CPU: long enough that each of them has several.
// Schedulers give a thread 3 ms or more at a time, 10 ms where that is what a tick of theirs takes.
inline double window_seconds(const SamplingRule& rule, std::size_t threads_per_cpu) {
  constexpr double kTurns = 0.03;
  const double least = threads_per_cpu > 1 ? kTurns * static_cast<double>(threads_per_cpu) : 0;
  return std::max(window_seconds(rule), least);
}

// Lets all work for one window; the sample has no values yet.
inline Sample window_sample(Team& team, std::span<Worker> workers, double window_s) {
  const double start = work_for(team, workers, window_s);
  return {.start_s = start,
          .duration_s = window_s,
          .values = {},
          .lost_share = max_lost_share(workers)};
}

}  // namespace tierscope
