// Threads pinned one to a CPU, or to sets of CPUs, that run the same function at the same time.
#pragma once

#include <time.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "threads/cpu_sets.h"

namespace tierscope {

class Team {
 public:
  // Starts one thread for each CPU and pins it there. Throws Unavailable for a CPU that the
  // process may not run on (taskset, cgroup cpuset) or that does not exist.
  explicit Team(std::span<const int> cpus) : Team(one_each(cpus)) {}
  // Starts one thread for each set, which runs on any of its CPUs. Throws alike.
  explicit Team(const CpuSets& sets);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(sets_.size()); }
  const CpuSets& sets() const { return sets_; }
  // Threads that share CPUs may have to wait for one; they may be more than there are CPUs.
  bool shares_cpus() const { return shared_.at_once > 0; }

  // Those threads that share CPUs with others or may choose among several.
  struct Shared {
    std::vector<bool> threads;  // Whether the thread of this number is one of them.
    std::size_t at_once = 0;    // How many of them can run at the same time; 0: there are none.
  };
  const Shared& shared() const { return shared_; }

  // What clock_gettime(2) knows a thread's CPU time by.
  clockid_t cpu_clock(int thread);

  // Runs work(thread) on every thread and waits for all; rethrows the first exception.
  void run(const std::function<void(int thread)>& work);

  // Inside run(): waits until every thread of the team is here, and returns one start time, in
  // seconds of now_seconds(), that is the same for all and has just passed. Threads with CPUs of
  // their own spin. Where threads share CPUs they sleep, since one that spins may keep the CPU from
  // one that is yet to come; all CPUs have a thread when the time comes, and a thread that has to
  // wait for its CPU returns later.
  double pass_gate();

 private:
  void loop(int thread);
  void stop();

  CpuSets sets_;
  Shared shared_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* work_ = nullptr;
  unsigned round_ = 0;  // Counts calls of run().
  int running_ = 0;     // Threads that have not finished this round.
  bool stopping_ = false;
  std::exception_ptr error_;

  alignas(64) std::atomic<int> at_gate_{0};
  alignas(64) std::atomic<double> gate_opens_{0};
  alignas(64) std::atomic<unsigned> gates_passed_{0};
};

}  // namespace tierscope
