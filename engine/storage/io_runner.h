// All threads of a measurement of input and output: they begin together, go from sample to sample
// together without a pause, and end together.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "storage/io_thread.h"
#include "threads/team.h"

namespace tierscope {

class IoRunner {
 public:
  // threads[i] works on thread i of the team, which prepares it by prepare(i).
  IoRunner(Team& team, std::span<IoThread* const> threads,
           std::function<void(std::size_t thread)> prepare);
  ~IoRunner();  // Stops.
  IoRunner(const IoRunner&) = delete;
  IoRunner& operator=(const IoRunner&) = delete;

  // Returns once every thread is prepared, and lets all of them begin. Throws what one of them
  // threw while it was prepared.
  void start();

  // Ends the sample that all threads are in, and begins the next one. Returns its number once every
  // thread has left it: its tallies do not change any more until the next call. Waits for an
  // operation that takes longer. Throws what a thread threw, Interrupted once a signal came.
  std::uint64_t end_sample();

  // Waits until all threads have moved their amounts, or lets them stop after so many seconds; the
  // sample's number. Throws as end_sample() does.
  std::uint64_t finish(double seconds);

  // Waits so many seconds, or until all threads have ended, each at its own end: whether they have.
  // Throws as end_sample() does.
  bool wait_for_end(double seconds);

  // Lets threads end, without waiting for them.
  void ask_to_stop() { stop_.store(true); }

  // Lets operations in flight end, and throws what a thread threw.
  void stop();

 private:
  void work(std::size_t thread);
  void note(std::exception_ptr error);
  void check() const;
  void join();

  Team& team_;
  std::span<IoThread* const> threads_;
  std::function<void(std::size_t)> prepare_;
  std::thread runner_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> sample_{0};
  std::atomic<std::size_t> prepared_{0};
  std::atomic<std::size_t> ended_{0};
  std::atomic<bool> go_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

}  // namespace tierscope
