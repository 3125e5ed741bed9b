// Dependent loads timed one by one, for the distribution of their latencies.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace tierscope {

// Counts of durations in ticks, exact below 256 and within 1/128 above. Two KiB are in use at a
// time, so that counting does not disturb what is timed.
class Histogram {
 public:
  void add(std::uint64_t ticks) {
    ++counts_[bin_of(ticks)];
    ++total_;
  }
  void clear() {
    counts_.fill(0);
    total_ = 0;
  }
  std::uint64_t total() const { return total_; }

  // The smallest duration, in ticks, that at least `share` (0..1) of all do not exceed.
  double quantile(double share) const;

 private:
  static constexpr unsigned kFineBits = 7;  // 128 bins for each doubling.
  static constexpr std::size_t kBins = (64 - kFineBits) << kFineBits;

  static std::size_t bin_of(std::uint64_t ticks) {
    const unsigned width = static_cast<unsigned>(std::bit_width(ticks));
    const unsigned shift = width > kFineBits + 1 ? width - kFineBits - 1 : 0;
    return (static_cast<std::size_t>(shift) << kFineBits) + (ticks >> shift);
  }
  static double middle_of(std::size_t bin);

  std::array<std::uint32_t, kBins + (1U << kFineBits)> counts_{};
  std::uint64_t total_ = 0;
};

// Follows `loads` links of a chase, times each by itself and adds it to `histogram`. A duration
// holds the cost of reading the timer, timer_cost_ticks().
void** follow_chase_timed(void** start, std::uint64_t loads, Histogram& histogram);

// Nanoseconds of a tick of that timer: the TSC, or Arm's generic timer.
double timer_tick_ns();

// Median duration that the timer shows where nothing lies between its two readings.
double timer_cost_ticks();

}  // namespace tierscope
