// The CPUs that this process may run on.
#pragma once

#include <vector>

namespace tierscope {

// Ascending; what taskset and the cgroup's cpuset leave (sched_getaffinity). Read once.
const std::vector<int>& allowed_cpus();

// The other hardware threads of a CPU's core; empty without SMT, or where sysfs does not say.
std::vector<int> core_siblings(int cpu);

}  // namespace tierscope
