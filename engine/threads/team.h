// Threads pinned one to a CPU that run the same function at the same time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace tierscope {

class Team {
 public:
  // Starts one thread for each CPU and pins it there. Throws Unavailable for a CPU that the
  // process may not run on (taskset, cgroup cpuset) or that does not exist.
  explicit Team(std::span<const int> cpus);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(cpus_.size()); }
  const std::vector<int>& cpus() const { return cpus_; }

  // Runs work(thread) on every thread and waits for all; rethrows the first exception.
  void run(const std::function<void(int thread)>& work);

  // Inside run(): waits, spinning, until every thread of the team is here, and returns one start
  // time, in seconds of now_seconds(), that is the same for all and has just passed.
  double pass_gate();

 private:
  void loop(int thread);
  void stop();

  std::vector<int> cpus_;
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
