#include "threads/usage.h"

#include <sys/resource.h>

namespace tierscope {

ThreadUsage usage_of_thread() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {.user_s = seconds(used.ru_utime),
          .system_s = seconds(used.ru_stime),
          .switches = static_cast<std::uint64_t>(used.ru_nvcsw + used.ru_nivcsw),
          .major_faults = static_cast<std::uint64_t>(used.ru_majflt),
          .minor_faults = static_cast<std::uint64_t>(used.ru_minflt)};
}

void ThreadUsage::add(const ThreadUsage& other, double sign) {
  const auto signed_sum = [&](std::uint64_t& own, std::uint64_t others) {
    own = sign > 0 ? own + others : own - others;
  };
  user_s += sign * other.user_s;
  system_s += sign * other.system_s;
  signed_sum(switches, other.switches);
  signed_sum(major_faults, other.major_faults);
  signed_sum(minor_faults, other.minor_faults);
}

}  // namespace tierscope
