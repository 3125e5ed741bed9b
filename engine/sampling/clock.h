// The engine's one clock: CLOCK_MONOTONIC_RAW, which no time daemon slews.
#pragma once

#include <cstdint>
#include <string>

namespace tierscope {

// Seconds since an arbitrary start; monotonic.
double now_seconds();

// The same in whole nanoseconds.
std::int64_t now_ns();

struct ClockCheck {
  double cost_s;        // Time that one reading takes (median of many).
  double resolution_s;  // Smallest difference seen between two readings that differ.
  std::string source;   // The kernel's current clocksource ("tsc", "kvm-clock", "hpet", ...).
  bool invariant_tsc;   // The CPU says that its TSC ticks at one rate always (x86; Arm: true).
};

// Measures the clock once per process and remembers the answer.
const ClockCheck& clock_check();

// Shortest sample, in seconds, of which the clock's cost and resolution are under 0.1%.
double shortest_sample();

// One line for evidence: "CLOCK_MONOTONIC_RAW on tsc, 1 ns steps, 20 ns a reading, invariant TSC".
std::string describe_clock();

}  // namespace tierscope
