#include "gpu/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sampling/clock.h"

namespace tierscope {
namespace {

std::atomic<double> hang_limit_s{30};

struct Slot {
  std::atomic<const char*> call{nullptr};
  std::atomic<double> since{0};
};

struct WatchedThreads {
  std::mutex mutex;
  std::vector<Slot*> all;
  bool watched = false;
};

WatchedThreads& watched_threads() {
  static auto& it = *new WatchedThreads;  // Never destroyed: the watching thread outlives main().
  return it;
}

[[noreturn]] void end_process(const char* call, double seconds) {
  const std::string line =
      fmt::format("{} has not returned for {:.0f} s: the library hangs\n", call, seconds);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  _exit(kHangStatus);
}

void watch() {
  while (true) {
    const double limit = hang_limit_s.load();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(limit / 4, 1.0)));
    const std::lock_guard lock(watched_threads().mutex);
    for (const Slot* slot : watched_threads().all) {
      const char* const call = slot->call.load(std::memory_order_acquire);
      const double seconds = now_seconds() - slot->since.load(std::memory_order_relaxed);
      if (call != nullptr && seconds > limit) end_process(call, seconds);
    }
  }
}

// A thread's own, known to the watching thread while the thread lives.
class OwnSlot {
 public:
  OwnSlot() {
    const std::lock_guard lock(watched_threads().mutex);
    watched_threads().all.push_back(&slot);
    if (!watched_threads().watched) std::thread(watch).detach();
    watched_threads().watched = true;
  }
  ~OwnSlot() {
    const std::lock_guard lock(watched_threads().mutex);
    std::erase(watched_threads().all, &slot);
  }

  Slot slot;
};

Slot& own_slot() {
  thread_local OwnSlot own;
  return own.slot;
}

}  // namespace

WatchedCall::WatchedCall(const char* call) {
  Slot& slot = own_slot();
  slot.since.store(now_seconds(), std::memory_order_relaxed);
  slot.call.store(call, std::memory_order_release);
}

WatchedCall::~WatchedCall() { own_slot().call.store(nullptr, std::memory_order_relaxed); }

void set_hang_limit(double seconds) { hang_limit_s = seconds; }

}  // namespace tierscope
