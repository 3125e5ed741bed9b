// Signs that somebody else used a measuring CPU meanwhile.
#pragma once

#include <span>

namespace tierscope {

// How often the calling thread lost its CPU against its will so far (getrusage, ru_nivcsw).
long involuntary_switches();

// Seconds that the hypervisor kept these CPUs for others since boot (/proc/stat, "steal"); 0 where
// the file cannot be read.
double stolen_seconds(std::span<const int> cpus);

}  // namespace tierscope
