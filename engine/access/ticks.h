// Readings of the CPU's own timer around a single operation: the TSC, or Arm's generic timer.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tierscope {

#if defined(__x86_64__)
// The fences keep loads between the two readings (Intel SDM vol. 2B, RDTSC and LFENCE).
inline std::uint64_t ticks_before() {
  _mm_lfence();
  const std::uint64_t ticks = __rdtsc();
  _mm_lfence();
  return ticks;
}

inline std::uint64_t ticks_after() {
  unsigned processor = 0;
  const std::uint64_t ticks = __rdtscp(&processor);
  _mm_lfence();
  return ticks;
}
#else
inline std::uint64_t ticks_before() {
  std::uint64_t ticks = 0;
  asm volatile("dsb ld\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
  return ticks;
}

inline std::uint64_t ticks_after() { return ticks_before(); }
#endif

}  // namespace tierscope
