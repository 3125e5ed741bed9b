// Dependent loads timed one by one, for the distribution of their latencies.
#pragma once

#include <cstdint>

#include "sampling/histogram.h"

namespace tierscope {

// Follows `loads` links of a chase, times each by itself and records its ns in `histogram`. A
// duration holds the cost of reading the timer, timer_cost_ticks().
void** follow_chase_timed(void** start, std::uint64_t loads, Histogram& histogram);

// Nanoseconds of a tick of that timer: the TSC, or Arm's generic timer.
double timer_tick_ns();

// Median duration that the timer shows where nothing lies between its two readings.
double timer_cost_ticks();

}  // namespace tierscope
