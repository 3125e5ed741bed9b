// A thread that takes a CPU from others.
#pragma once

#include <atomic>
#include <thread>

#include "threads/disturbance.h"
#include "threads/team.h"

namespace tierscope {

// Returns once the calling thread has had so many seconds of a CPU.
inline void use_cpu(double seconds) {
  const LostTime time;
  while (time.used_s() < seconds) {
  }
}

// Sleeps until it is started, uses the CPU for kUses seconds, and is done.
class Competitor {
 public:
  static constexpr double kUses = 0.02;

  explicit Competitor(int cpu)
      : thread_([this, cpu] {
          Team team(std::vector{cpu});
          team.run([this](int) {
            started_.wait(false);
            use_cpu(kUses);
            done_ = true;
          });
        }) {}
  ~Competitor() {
    start();
    thread_.join();
  }
  Competitor(const Competitor&) = delete;
  Competitor& operator=(const Competitor&) = delete;

  void start() {
    started_ = true;
    started_.notify_one();
  }
  bool done() const { return done_; }

 private:
  std::atomic<bool> started_{false};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace tierscope
