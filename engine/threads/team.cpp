#include "threads/team.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <memory>
#include <system_error>

#include "errors.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

// The last thread to arrive opens the gate this much later, so that the others, which see it at
// most a few cache misses later, are all spinning on the clock by then.
constexpr double kGateDelay = 2e-6;

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

void pin_to(pthread_t thread, int cpu) {
  const std::unique_ptr<cpu_set_t, FreeCpuSet> set(CPU_ALLOC(static_cast<std::size_t>(cpu) + 1));
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpu) + 1);
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set.get());
  if (pthread_setaffinity_np(thread, bytes, set.get()) != 0) {
    throw Unavailable(Cause::kCpu,
                      fmt::format("no thread can run on CPU {}: it is offline, does not exist or "
                                  "lies outside this process's cpuset",
                                  cpu),
                      "name CPUs out of `taskset -cp $$`, or widen the cgroup's cpuset.cpus");
  }
}

}  // namespace

Team::Team(std::span<const int> cpus) : cpus_(cpus.begin(), cpus.end()) {
  try {
    for (int thread = 0; thread < size(); ++thread) {
      threads_.emplace_back(&Team::loop, this, thread);
      pin_to(threads_.back().native_handle(), cpus_[static_cast<std::size_t>(thread)]);
    }
  } catch (const std::system_error& error) {
    stop();
    throw Unavailable(Cause::kCpu,
                      fmt::format("thread {} of {} cannot be started: {}", threads_.size() + 1,
                                  size(), error.what()),
                      "raise `ulimit -u` or the cgroup's pids.max");
  } catch (...) {
    stop();
    throw;
  }
}

Team::~Team() { stop(); }

void Team::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run(const std::function<void(int)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  running_ = size();
  error_ = nullptr;
  at_gate_ = 0;
  ++round_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return running_ == 0; });
  if (error_) std::rethrow_exception(error_);
}

void Team::loop(int thread) {
  unsigned rounds_done = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || round_ != rounds_done; });
    if (stopping_) return;
    rounds_done = round_;
    lock.unlock();
    std::exception_ptr error;
    try {
      (*work_)(thread);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !error_) error_ = error;
    if (--running_ == 0) changed_.notify_all();
  }
}

double Team::pass_gate() {
  const unsigned passed = gates_passed_.load();
  if (at_gate_.fetch_add(1) + 1 == size()) {
    at_gate_.store(0);
    gate_opens_.store(now_seconds() + kGateDelay);
    gates_passed_.fetch_add(1);
  } else {
    while (gates_passed_.load(std::memory_order_acquire) == passed) {
    }
  }
  const double opens = gate_opens_.load();
  while (now_seconds() < opens) {
  }
  return opens;
}

}  // namespace tierscope
