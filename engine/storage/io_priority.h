// Priorities of input and output, as the kernel has them (ioprio_set(2)): a class and a level.
// Schedulers of block devices may keep to them; without one (none) drives may.
#pragma once

#include <cstdint>
#include <string>

namespace tierscope {

// 3 bits of class (0: none, 1: real-time, 2: best-effort, 3: idle) above 13 bits, whose lowest 3
// are the level: 0 (highest) to 7.
using IoPriority = std::uint16_t;

constexpr IoPriority io_priority(int io_class, int level) {
  return static_cast<IoPriority>(io_class << 13 | level);
}

// "prio 1/0"
std::string text_of(IoPriority priority);

// The kernel refused this priority (EPERM). Throws Unavailable.
[[noreturn]] void refuse_priority(IoPriority priority);

// The calling thread's operations have this priority for as long as the object lives; 0: the one
// that it has. Throws Unavailable.
class ThreadIoPriority {
 public:
  explicit ThreadIoPriority(IoPriority priority);
  ~ThreadIoPriority();
  ThreadIoPriority(const ThreadIoPriority&) = delete;
  ThreadIoPriority& operator=(const ThreadIoPriority&) = delete;

 private:
  int before_ = -1;  // -1: nothing was changed.
};

}  // namespace tierscope
