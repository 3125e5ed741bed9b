// Signs that somebody else used a measuring CPU.
#pragma once

#include <span>

namespace tierscope {

// Time that the calling thread wanted and did not get: wall clock time less its CPU time.
class LostTime {
 public:
  LostTime();  // Watches from here on.
  // Of the time since, 0..1. The kernel's own short work on any CPU is far below a hundredth.
  double share() const;
  // CPU time that the thread has used since, in seconds.
  double used_s() const;

 private:
  double wall_;
  double used_;
};

// Seconds that the hypervisor kept these CPUs for others since boot (/proc/stat, "steal"); 0 where
// the file cannot be read.
double stolen_seconds(std::span<const int> cpus);

}  // namespace tierscope
