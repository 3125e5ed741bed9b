#include "threads/team.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <memory>
#include <span>
#include <system_error>

#include "errors.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

// The last thread to arrive opens the gate this much later, so that the others, which see it at
// most a few cache misses later, are all spinning on the clock by then.
constexpr double kGateDelay = 2e-6;

// The same where they sleep: as long as waking takes, and the first ones to run take all CPUs.
double waking_delay(int threads) { return 1e-4 + 5e-6 * threads; }

// A mask of CPUs, as large as those of any kernel.
class CpuMask {
 public:
  CpuMask() { CPU_ZERO_S(kBytes, set_.get()); }
  void add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), kBytes, set_.get()); }
  bool has(int cpu) const {
    return CPU_ISSET_S(static_cast<std::size_t>(cpu), kBytes, set_.get()) != 0;
  }
  bool apply(pthread_t thread) const {
    return pthread_setaffinity_np(thread, kBytes, set_.get()) == 0;
  }
  bool read(pthread_t thread) { return pthread_getaffinity_np(thread, kBytes, set_.get()) == 0; }

 private:
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  static constexpr std::size_t kCpus = 65536;
  static constexpr std::size_t kBytes = kCpus / 8;
  std::unique_ptr<cpu_set_t, Free> set_{CPU_ALLOC(kCpus)};
};

void pin_to(pthread_t thread, std::span<const int> cpus) {
  CpuMask wanted;
  for (const int cpu : cpus) wanted.add(cpu);
  // The kernel takes those CPUs of a set that there are, and says nothing of the others.
  CpuMask taken;
  const bool pinned = wanted.apply(thread) && taken.read(thread);
  const auto missing =
      std::ranges::find_if(cpus, [&](int cpu) { return !pinned || !taken.has(cpu); });
  if (missing == cpus.end()) return;
  throw Unavailable(
      Cause::kCpu,
      cpus.size() == 1 || pinned
          ? fmt::format("no thread can run on CPU {}: it is offline, does not exist or lies "
                        "outside this process's cpuset",
                        *missing)
          : fmt::format("no thread can run on any of CPUs {}: they are offline, do not exist or "
                        "lie outside this process's cpuset",
                        fmt::join(cpus, ", ")),
      "name CPUs out of `taskset -cp $$`, or widen the cgroup's cpuset.cpus");
}

Team::Shared threads_that_share(const CpuSets& sets) {
  const std::vector<bool> own = has_own_cpu(sets);
  Team::Shared shared;
  CpuSets theirs;
  for (std::size_t thread = 0; thread < sets.size(); ++thread) {
    shared.threads.push_back(!own[thread]);
    if (!own[thread]) theirs.push_back(sets[thread]);
  }
  shared.at_once = most_at_once(theirs);
  return shared;
}

}  // namespace

Team::Team(const CpuSets& sets) : sets_(sets), shared_(threads_that_share(sets)) {
  try {
    for (int thread = 0; thread < size(); ++thread) {
      threads_.emplace_back(&Team::loop, this, thread);
      pin_to(threads_.back().native_handle(), sets_[static_cast<std::size_t>(thread)]);
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

clockid_t Team::cpu_clock(int thread) {
  clockid_t clock{};
  pthread_getcpuclockid(threads_[static_cast<std::size_t>(thread)].native_handle(), &clock);
  return clock;
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
    gate_opens_.store(now_seconds() + (shares_cpus() ? waking_delay(size()) : kGateDelay));
    gates_passed_.fetch_add(1);
    if (shares_cpus()) gates_passed_.notify_all();
  } else if (shares_cpus()) {
    gates_passed_.wait(passed);
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
