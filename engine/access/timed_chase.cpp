#include "access/timed_chase.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "sampling/clock.h"

namespace tierscope {
namespace {

#if defined(__x86_64__)
// The fences keep the load between the two readings (Intel SDM vol. 2B, RDTSC and LFENCE).
inline std::uint64_t before_load() {
  _mm_lfence();
  const std::uint64_t ticks = __rdtsc();
  _mm_lfence();
  return ticks;
}

inline std::uint64_t after_load() {
  unsigned processor = 0;
  const std::uint64_t ticks = __rdtscp(&processor);
  _mm_lfence();
  return ticks;
}
#else
inline std::uint64_t before_load() {
  std::uint64_t ticks = 0;
  asm volatile("dsb ld\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
  return ticks;
}

inline std::uint64_t after_load() { return before_load(); }
#endif

}  // namespace

void** follow_chase_timed(void** start, std::uint64_t loads, Histogram& histogram) {
  void** at = start;
  for (; loads > 0; --loads) {
    const std::uint64_t before = before_load();
    at = static_cast<void**>(*static_cast<void* volatile*>(at));
    asm volatile("" : "+r"(at));
    histogram.record(after_load() - before);
  }
  return at;
}

double timer_tick_ns() {
  static const double tick_ns = [] {
    constexpr double kWatched = 0.02;  // Seconds: readings of 50 ns are far below 0.1% of it.
    const double start = now_seconds();
    const std::uint64_t first = before_load();
    double end = start;
    while (end - start < kWatched) end = now_seconds();
    return (end - start) * 1e9 / static_cast<double>(before_load() - first);
  }();
  return tick_ns;
}

double timer_cost_ticks() {
  static const double cost = [] {
    Histogram histogram;
    for (int i = 0; i < 10000; ++i) {
      const std::uint64_t before = before_load();
      histogram.record(after_load() - before);
    }
    return histogram.quantile(0.5);
  }();
  return cost;
}

}  // namespace tierscope
