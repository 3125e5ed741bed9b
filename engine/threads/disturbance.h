// Signs that somebody else used a measuring CPU meanwhile.
#pragma once

#include <span>
#include <vector>

namespace tierscope {

// Time that the calling thread did not get although it wanted it: wall clock less its CPU time.
class LostTime {
 public:
  LostTime();  // Watches from here on.
  // Of the time since, 0..1. The kernel's own short work on any CPU is far below a hundredth.
  double share() const;

 private:
  double wall_;
  double used_;
};

// Seconds that the hypervisor kept these CPUs for others since boot (/proc/stat, "steal"); 0 where
// the file cannot be read.
double stolen_seconds(std::span<const int> cpus);

// Whether each of a series of samples was disturbed, and how much time others took in all.
//
// A sample counts as disturbed if a measuring thread lost more than kDisturbedShare of it to
// others (a switch alone does not: the kernel's housekeeping takes microseconds), or if the
// hypervisor's count of stolen time rose, which it does in ticks of 10 ms.
inline constexpr double kDisturbedShare = 0.01;

class DisturbanceWatch {
 public:
  explicit DisturbanceWatch(std::vector<int> cpus);

  // Call after each sample with the largest share of it that a thread lost.
  void note(double lost_share);
  bool last_disturbed() const { return last_disturbed_; }
  // Of the time since the beginning, the part that the hypervisor took; 0..1.
  double steal_share() const;

 private:
  std::vector<int> cpus_;
  double start_;
  double stolen_at_start_;
  double stolen_;
  bool last_disturbed_ = false;
};

}  // namespace tierscope
