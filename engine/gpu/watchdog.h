// Calls into a library that may never return. A thread that is stuck there cannot be ended, so the
// process ends instead, with a line that says where; the parent starts another one.
#pragma once

#include <atomic>
#include <cstdint>

namespace tierscope {

// While it lives, the calling thread is in `call`, a literal. Costs a look at the clock.
class WatchedCall {
 public:
  explicit WatchedCall(const char* call);
  ~WatchedCall();
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;
};

// Seconds after which a call is taken to hang; 30 unless set.
void set_hang_limit(double seconds);

// Status with which a process ends in which a call hangs.
inline constexpr int kHangStatus = 3;

}  // namespace tierscope
