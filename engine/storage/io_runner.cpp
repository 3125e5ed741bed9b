#include "storage/io_runner.h"

#include <chrono>
#include <optional>
#include <utility>

#include "errors.h"
#include "interrupt.h"
#include "sampling/clock.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

constexpr std::chrono::microseconds kLook{100};

}  // namespace

IoRunner::IoRunner(Team& team, std::span<IoThread* const> threads,
                   std::function<void(std::size_t)> prepare)
    : team_(team), threads_(threads), prepare_(std::move(prepare)) {}

IoRunner::~IoRunner() { join(); }

void IoRunner::start() {
  runner_ = std::thread([this] {
    try {
      team_.run([this](int thread) { work(static_cast<std::size_t>(thread)); });
    } catch (...) {
      note(std::current_exception());
    }
  });
  for (std::size_t ready = 0; ready < threads_.size(); ready = prepared_.load()) {
    prepared_.wait(ready);
  }
  go_.store(true);
  go_.notify_all();
  check();
}

void IoRunner::work(std::size_t thread) {
  std::exception_ptr error;
  std::optional<RunQueueDelay> queue;
  try {
    prepare_(thread);
    queue = watch_run_queue(team_, static_cast<int>(thread));
  } catch (...) {
    error = std::current_exception();
    note(error);
  }
  prepared_.fetch_add(1);
  prepared_.notify_all();
  go_.wait(false);
  try {
    if (!failed_.load()) threads_[thread]->run(stop_, sample_, queue ? &*queue : nullptr);
  } catch (...) {
    error = std::current_exception();
    note(error);
  }
  threads_[thread]->release();
  ended_.fetch_add(1);
}

// The first error is the one that is reported; the others are most often its consequences.
void IoRunner::note(std::exception_ptr error) {
  if (!failed_.exchange(true)) error_ = std::move(error);
  stop_.store(true);
}

void IoRunner::check() const {
  if (!failed_.load()) return;
  // Other threads may still be about to end; the error itself was stored before.
  while (error_ == nullptr) std::this_thread::yield();
  std::rethrow_exception(error_);
}

std::uint64_t IoRunner::end_sample() {
  check();
  const std::uint64_t ended = sample_.fetch_add(1);
  for (IoThread* const thread : threads_) {
    while (thread->sample() <= ended) {
      check();
      if (interrupted()) throw Interrupted();
      std::this_thread::sleep_for(kLook);
    }
  }
  return ended;
}

std::uint64_t IoRunner::finish(double seconds) {
  const double end = now_seconds() + seconds;
  while (ended_.load() < threads_.size()) {
    check();
    if (interrupted()) {
      stop_.store(true);
      throw Interrupted();
    }
    if (now_seconds() > end) stop_.store(true);
    std::this_thread::sleep_for(kLook);
  }
  check();
  return sample_.load();
}

bool IoRunner::wait_for_end(double seconds) {
  constexpr std::chrono::milliseconds kPause{1};
  const double end = now_seconds() + seconds;
  while (ended_.load() < threads_.size() && now_seconds() < end) {
    check();
    if (interrupted()) throw Interrupted();
    std::this_thread::sleep_for(kPause);
  }
  check();
  return ended_.load() == threads_.size();
}

void IoRunner::stop() {
  join();
  check();
}

void IoRunner::join() {
  stop_.store(true);
  if (!runner_.joinable()) return;
  go_.store(true);
  go_.notify_all();
  runner_.join();
}

}  // namespace tierscope
