#include "access/timed_chase.h"

#include <cmath>

#include "access/ticks.h"
#include "sampling/clock.h"

namespace tierscope {
void** follow_chase_timed(void** start, std::uint64_t loads, Histogram& histogram) {
  void** at = start;
  const double tick_ns = timer_tick_ns();
  for (; loads > 0; --loads) {
    const std::uint64_t before = ticks_before();
    at = static_cast<void**>(*static_cast<void* volatile*>(at));
    asm volatile("" : "+r"(at));
    const auto ticks = static_cast<double>(ticks_after() - before);
    histogram.record(static_cast<std::uint64_t>(std::llround(ticks * tick_ns)));
  }
  return at;
}

double timer_tick_ns() {
  static const double tick_ns = [] {
    constexpr double kWatched = 0.02;  // Seconds: readings of 50 ns are far below 0.1% of it.
    const double start = now_seconds();
    const std::uint64_t first = ticks_before();
    double end = start;
    while (end - start < kWatched) end = now_seconds();
    return (end - start) * 1e9 / static_cast<double>(ticks_before() - first);
  }();
  return tick_ns;
}

double timer_cost_ticks() {
  static const double cost = [] {
    Histogram histogram;
    for (int i = 0; i < 10000; ++i) {
      const std::uint64_t before = ticks_before();
      histogram.record(ticks_after() - before);
    }
    return histogram.quantile(0.5);
  }();
  return cost;
}

}  // namespace tierscope
