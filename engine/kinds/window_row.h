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

// The same for threads that may share CPUs: as long as each of them has its turns. Schedulers give
// a thread about 3 ms at a time, so that it gets three turns or more.
inline double window_seconds(const SamplingRule& rule, const CpuSets& sets) {
  constexpr double kTurns = 0.01;
  const std::size_t each = threads_per_cpu(sets);
  const double least = each > 1 ? kTurns * static_cast<double>(each) : 0;
  return std::max(window_seconds(rule), least);
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
