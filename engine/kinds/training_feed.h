// What readers hand to one emulated accelerator: batches, so many of them ahead.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

namespace tierscope {

class Feed {
 public:
  struct Wish {
    std::size_t units;  // That readers claim: batches, or files of records.
    bool batches;       // Units are batches, taken in their order; else any samples make a batch.
    std::size_t batch;  // Samples.
    std::size_t ahead;  // Batches.
  };
  explicit Feed(const Wish& wish) : wish_(wish), ready_(wish.batches ? wish.units : 0) {}

  // In a reader: the next unit; nothing where none is left. Of batches it waits until the
  // accelerator is near. Throws Interrupted.
  std::optional<std::size_t> claim();
  // In a reader: a unit's samples came, all of a batch, or one of a file. Of these it waits until
  // there is room; false: nobody needs any more. Throws Interrupted.
  bool deliver(std::size_t unit);

  // In the accelerator: takes the next batch and waits for it; false: none will come. Throws
  // Interrupted.
  bool take();

  // Nobody waits any more.
  void close();

 private:
  template <typename Ready>
  bool wait(std::unique_lock<std::mutex>& lock, const Ready& ready);

  Wish wish_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t claimed_ = 0;  // Units.
  std::size_t taken_ = 0;    // Batches.
  std::size_t samples_ = 0;  // Delivered, where units are files.
  std::vector<char> ready_;  // Batches.
  bool closed_ = false;
};

// Accelerators begin each step together, as those do that exchange gradients.
class StepGate {
 public:
  explicit StepGate(std::size_t accelerators) : accelerators_(accelerators) {}

  // Waits for all of them; false: one of them ended. Throws Interrupted.
  bool pass();
  void close();

 private:
  std::size_t accelerators_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t waiting_ = 0;
  std::size_t steps_ = 0;
  bool closed_ = false;
};

}  // namespace tierscope
