#include "threads/affinity.h"

#include <fmt/format.h>
#include <sched.h>

#include <fstream>
#include <memory>

namespace tierscope {

const std::vector<int>& allowed_cpus() {
  static const std::vector<int> cpus = [] {
    constexpr int kMaxCpus = 65536;  // A mask smaller than the kernel's own is refused.
    struct FreeCpuSet {
      void operator()(cpu_set_t* set) const { CPU_FREE(set); }
    };
    const std::unique_ptr<cpu_set_t, FreeCpuSet> set(CPU_ALLOC(kMaxCpus));
    const std::size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
    CPU_ZERO_S(bytes, set.get());
    std::vector<int> found;
    if (sched_getaffinity(0, bytes, set.get()) != 0) return found;
    for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set.get())) found.push_back(cpu);
    }
    return found;
  }();
  return cpus;
}

std::vector<int> core_siblings(int cpu) {
  // Ranges and single numbers separated by commas: "3,35" or "6-7".
  std::ifstream file(
      fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
  std::vector<int> siblings;
  int first = 0;
  while (file >> first) {
    int last = first;
    char separator = static_cast<char>(file.get());
    if (separator == '-' && file >> last) separator = static_cast<char>(file.get());
    for (int number = first; number <= last; ++number) {
      if (number != cpu) siblings.push_back(number);
    }
    if (separator != ',') break;
  }
  return siblings;
}

}  // namespace tierscope
