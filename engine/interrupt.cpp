#include "interrupt.h"

#include <atomic>
#include <csignal>

namespace tierscope {
namespace {

std::atomic<bool> signal_came{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a handler may only touch lock-free atomics");

}  // namespace

void watch_signals() {
  struct sigaction action{};
  action.sa_handler = [](int) { signal_came.store(true, std::memory_order_relaxed); };
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return signal_came.load(std::memory_order_relaxed); }

}  // namespace tierscope
