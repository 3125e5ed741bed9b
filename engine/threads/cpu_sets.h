// Which CPUs each thread of a team may run on.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tierscope {

// One set for each thread. Sets may be equal or overlap, and may be more than there are CPUs.
using CpuSets = std::vector<std::vector<int>>;

// A set of one CPU for each thread.
CpuSets one_each(std::span<const int> cpus);

// All CPUs of the sets, ascending.
std::vector<int> all_cpus(const CpuSets& sets);

// Which threads have a CPU of their own: a set of one CPU, which is in no other set.
std::vector<bool> has_own_cpu(const CpuSets& sets);

// How many of the threads can run at the same time: a maximum matching of threads to CPUs (Kuhn,
// Naval Research Logistics Quarterly 2, 1955).
std::size_t most_at_once(const CpuSets& sets);

// How many threads take turns on a CPU, on average and rounded up; 1 where all can run at once.
std::size_t threads_per_cpu(const CpuSets& sets);

}  // namespace tierscope
