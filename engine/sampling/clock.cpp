#include "sampling/clock.h"

#include <fmt/format.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <fstream>

namespace tierscope {

double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

namespace {

bool has_invariant_tsc() {
#if defined(__x86_64__)
  // Intel SDM vol. 2A, CPUID leaf 80000007H: EDX bit 8 is "Invariant TSC".
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1U << 8)) != 0;
#else
  return true;  // Arm's generic timer has a fixed frequency (Arm ARM, D12).
#endif
}

ClockCheck check_clock() {
  constexpr int kReadings = 1000;
  std::array<double, kReadings> steps{};
  double smallest = 1.0;
  for (double& step : steps) {
    const double first = now_seconds();
    const double second = now_seconds();
    step = second - first;
    if (step > 0) smallest = std::min(smallest, step);
  }
  std::nth_element(steps.begin(), steps.begin() + kReadings / 2, steps.end());
  timespec resolution{};
  clock_getres(CLOCK_MONOTONIC_RAW, &resolution);
  const double stated = static_cast<double>(resolution.tv_nsec) * 1e-9;
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source = "unknown";
  file >> source;
  // Where readings differ by more than the stated resolution only because a reading takes that
  // long, the stated one holds; a coarse clock repeats itself and its median step is zero.
  const double median = steps[kReadings / 2];
  return {.cost_s = median > 0 ? median : stated,
          .resolution_s = median > 0 ? stated : smallest,
          .source = source,
          .invariant_tsc = has_invariant_tsc()};
}

}  // namespace

const ClockCheck& clock_check() {
  static const ClockCheck check = check_clock();
  return check;
}

double shortest_sample() {
  return 1000.0 * std::max(clock_check().cost_s, clock_check().resolution_s);
}

std::string describe_clock() {
  const ClockCheck& check = clock_check();
  return fmt::format("CLOCK_MONOTONIC_RAW on {}, {:.0f} ns steps, {:.0f} ns a reading, TSC {}",
                     check.source, check.resolution_s * 1e9, check.cost_s * 1e9,
                     check.invariant_tsc ? "invariant" : "not invariant");
}

}  // namespace tierscope
