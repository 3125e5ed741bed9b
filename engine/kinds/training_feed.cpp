#include "kinds/training_feed.h"

#include <chrono>

#include "errors.h"
#include "interrupt.h"

namespace tierscope {
namespace {

constexpr auto kLook = std::chrono::milliseconds(20);  // For signals, while a thread waits.

template <typename Ready>
void wait_on(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
             const Ready& ready) {
  while (!changed.wait_for(lock, kLook, ready)) {
    if (interrupted()) throw Interrupted();
  }
}

}  // namespace

template <typename Ready>
bool Feed::wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
  wait_on(changed_, lock, [&] { return closed_ || ready(); });
  return !closed_;
}

std::optional<std::size_t> Feed::claim() {
  std::unique_lock lock(mutex_);
  const auto near = [&] {
    return !wish_.batches || claimed_ == wish_.units || claimed_ < taken_ + wish_.ahead;
  };
  if (!wait(lock, near) || claimed_ == wish_.units) return std::nullopt;
  return claimed_++;
}

bool Feed::deliver(std::size_t unit) {
  std::unique_lock lock(mutex_);
  if (wish_.batches) {
    ready_[unit] = 1;
  } else {
    const auto room = [&] { return samples_ < (taken_ + wish_.ahead) * wish_.batch; };
    if (!wait(lock, room)) return false;
    ++samples_;
  }
  changed_.notify_all();
  return !closed_;
}

bool Feed::take() {
  std::unique_lock lock(mutex_);
  const auto there = [&] {
    return wish_.batches ? ready_[taken_] != 0 : samples_ >= (taken_ + 1) * wish_.batch;
  };
  if (!wait(lock, there)) return false;
  ++taken_;
  changed_.notify_all();
  return true;
}

void Feed::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

bool StepGate::pass() {
  std::unique_lock lock(mutex_);
  if (++waiting_ == accelerators_) {
    waiting_ = 0;
    ++steps_;
    changed_.notify_all();
    return !closed_;
  }
  wait_on(changed_, lock, [&, step = steps_] { return closed_ || steps_ != step; });
  return !closed_;
}

void StepGate::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace tierscope
