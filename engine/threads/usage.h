// CPU time, context switches and page faults of a thread, by the kernel.
#pragma once

#include <cstdint>

namespace tierscope {

// What the kernel counted of a thread, as getrusage() has it.
struct ThreadUsage {
  double user_s = 0;
  double system_s = 0;
  std::uint64_t switches = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t minor_faults = 0;

  void add(const ThreadUsage& other, double sign = 1);
};

// Of the calling thread, since it began.
ThreadUsage usage_of_thread();

}  // namespace tierscope
