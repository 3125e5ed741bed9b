#include "storage/io_thread.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "errors.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
// A sleeping thread wakes up so much before an operation is due, and spins for the rest.
constexpr std::int64_t kWakeUpNs = 60'000;
// Longest sleep, after which it looks whether it is to stop or a new sample has begun.
constexpr std::int64_t kLongestSleepNs = 10'000'000;

std::uint64_t not_negative(std::int64_t ns) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
}

}  // namespace

void Tally::clear() {
  start_ns = end_ns = 0;
  reads = writes = bytes_read = bytes_written = 0;
  lost_s = 0;
  for (OperationTimes* const times : {&of_reads, &of_writes}) {
    if (times->used) *times = OperationTimes{};
  }
  sync.clear();
}

IoThread::IoThread(const IoPattern& pattern, const IoRule& rule, RequestStream stream,
                   std::span<const std::string> names, BlockHooks hooks, std::uint64_t seed)
    : pattern_(pattern),
      rule_(rule),
      stream_(std::move(stream)),
      names_(names),
      hooks_(std::move(hooks)),
      seed_(seed) {
  const std::uint32_t slots = pattern.operation == IoOperation::kMix ? 2 * rule.depth : rule.depth;
  requests_.resize(slots);
  used_ = std::make_unique<bool[]>(slots);
  started_ns_.resize(slots);
  submitted_ns_.resize(slots);
  batch_.reserve(rule.batch);
  ended_.resize(rule.depth);
  for (std::uint32_t slot = rule.depth; slot-- > 0;) free_.push_back(slot);
  for (std::uint32_t slot = slots; slot-- > slots - rule.depth;) free_for_writes_.push_back(slot);
}

void IoThread::prepare(const ThreadIo& io) { backend_ = rule_.backend->make(io); }

void IoThread::run(const std::atomic<bool>& stop, const std::atomic<std::uint64_t>& sample,
                   RunQueueDelay* queue) {
  begin(sample.load(), queue);
  while (true) {
    const bool stopping = stop.load(std::memory_order_relaxed) || issued_all();
    if (stopping && in_flight_ == 0) break;
    const std::uint64_t wanted = sample.load(std::memory_order_relaxed);
    if (wanted != sample_.load(std::memory_order_relaxed)) begin_sample(wanted);
    while (!stopping && in_flight_ < rule_.depth && issue(arrivals_ ? now_ns() : 0) > 0) {
    }
    if (in_flight_ > 0) {
      reap(stopping || !arrivals_ ? kForever : wait_seconds(now_ns()));
    } else if (arrivals_) {
      sleep_until_due(stop);
    }
  }
  end();
}

void IoThread::begin(std::uint64_t sample, RunQueueDelay* queue) {
  prctl(PR_SET_TIMERSLACK, 1);
  queue_ = queue;
  if (queue_ != nullptr) queue_->lost_s();  // Before the first sample.
  issued_bytes_ = 0;
  in_flight_ = 0;
  opened_ns_ = now_ns();
  if (rule_.rate > 0) {
    arrivals_ = std::make_unique<Arrivals>(rule_.rate, pattern_.poisson, seed_);
    due_ns_ = opened_ns_ + static_cast<std::int64_t>(arrivals_->next_ns());
  }
  sample_.store(sample);
  begin_sample(sample);
  now_->start_ns = opened_ns_;
}

void IoThread::reap(double wait_s) {
  const std::size_t count = backend_->reap(ended_, wait_s > 0 ? 1 : 0, wait_s);
  const std::int64_t now = count > 0 && !rule_.backend->synchronous ? now_ns() : 0;
  for (std::size_t i = 0; i < count; ++i) complete(ended_[i], now);
}

void IoThread::end() {
  if (rule_.end_fsync) {
    for (std::size_t file = 0; file < names_.size(); ++file) synced(static_cast<int>(file), false);
  }
  finished_ns_ = now_ns();
  last_cpu_ = sched_getcpu();
  end_sample(finished_ns_);
  sample_.store(std::numeric_limits<std::uint64_t>::max(), std::memory_order_release);
}

// The sample ends where the next one begins, between two operations of this thread.
void IoThread::begin_sample(std::uint64_t sample) {
  const std::int64_t now = now_ns();
  if (now_ != nullptr) end_sample(now);
  now_ = &tallies_[sample % 2];
  now_->clear();
  now_->start_ns = now;
  sample_.store(sample, std::memory_order_release);
}

void IoThread::end_sample(std::int64_t now) {
  now_->end_ns = now;
  if (queue_ != nullptr) now_->lost_s = queue_->lost_s();
}

std::size_t IoThread::issue(std::int64_t now) {
  batch_.clear();
  while (in_flight_ + batch_.size() < rule_.depth && batch_.size() < rule_.batch && !issued_all()) {
    if (arrivals_ && due_ns_ > now) break;
    IoRequest operation = stream_.next();
    take_slot(operation);
    if (arrivals_) {
      started_ns_[operation.slot] = due_ns_;
      due_ns_ = opened_ns_ + static_cast<std::int64_t>(arrivals_->next_ns());
    }
    issued_bytes_ += operation.bytes;
    if (operation.write && hooks_.before_write) hooks_.before_write(operation);
    batch_.push_back(operation);
    if (rule_.backend->synchronous) break;
  }
  if (!batch_.empty()) submit();
  return batch_.size();
}

void IoThread::take_slot(IoRequest& operation) {
  std::vector<std::uint32_t>& free =
      operation.write && pattern_.operation == IoOperation::kMix ? free_for_writes_ : free_;
  operation.slot = free.back();
  free.pop_back();
  requests_[operation.slot] = operation;
  used_[operation.slot] = true;
}

void IoThread::submit() {
  const std::int64_t before = now_ns();
  backend_->submit(batch_);
  const std::int64_t after = now_ns();
  for (const IoRequest& operation : batch_) {
    if (!arrivals_) started_ns_[operation.slot] = before;
    submitted_ns_[operation.slot] = after;
    if (!rule_.backend->synchronous) {
      now_->times(operation.write).submission.record(not_negative(after - before));
    }
  }
  in_flight_ += static_cast<std::uint32_t>(batch_.size());
}

void IoThread::complete(const Completion& completion, std::int64_t now) {
  const std::uint32_t slot = completion.slot;
  const IoRequest& operation = requests_[slot];
  const bool second = operation.write && pattern_.operation == IoOperation::kMix;
  (second ? free_for_writes_ : free_).push_back(slot);
  --in_flight_;
  if (completion.result != operation.bytes) fail(operation, completion.result);
  const std::int64_t ended = rule_.backend->synchronous ? submitted_ns_[slot] : now;
  const std::uint64_t latency = not_negative(ended - started_ns_[slot]);
  OperationTimes& times = now_->times(operation.write);
  times.latency.record(latency);
  if (!rule_.backend->synchronous) {
    times.completion.record(not_negative(ended - submitted_ns_[slot]));
  }
  if (operation.write) {
    ++now_->writes;
    now_->bytes_written += operation.bytes;
    sync_if_due(operation);
  } else {
    ++now_->reads;
    now_->bytes_read += operation.bytes;
    if (hooks_.after_read) hooks_.after_read(operation);
  }
  if (queue_ != nullptr) queue_->look(ended);
}

void IoThread::fail(const IoRequest& operation, std::int64_t result) const {
  const std::string what = fmt::format(
      "{} of {} bytes at offset {} of {}", operation.write ? "write" : "read", operation.bytes,
      operation.offset, names_[static_cast<std::size_t>(operation.file)]);
  if (result == -EFAULT) {
    throw Failure(what +
                      ": the mapping has no page there; the file was truncated, or its drive "
                      "cannot be read",
                  Cause::kStorage);
  }
  if (result == -EINVAL) {
    throw Unavailable(
        Cause::kStorage, what + ": the file system refuses it (EINVAL)",
        "direct I/O needs offsets and sizes that are multiples of the device's block; "
        "say --direct no, or larger blocks");
  }
  if (result < 0) {
    throw Failure(fmt::format("{}: {}", what, strerror(static_cast<int>(-result))),
                  Cause::kStorage);
  }
  throw Failure(
      fmt::format("{}: only {} were moved; the file may have been truncated", what, result),
      Cause::kStorage);
}

void IoThread::sync_if_due(const IoRequest& operation) {
  if (rule_.fsync != 0 && ++writes_since_fsync_ >= rule_.fsync) {
    writes_since_fsync_ = 0;
    synced(operation.file, false);
  }
  if (rule_.fdatasync != 0 && ++writes_since_fdatasync_ >= rule_.fdatasync) {
    writes_since_fdatasync_ = 0;
    synced(operation.file, true);
  }
}

void IoThread::synced(int file, bool data_only) {
  const std::int64_t before = now_ns();
  backend_->sync(file, data_only);
  now_->sync.record(not_negative(now_ns() - before));
}

// Seconds to wait for completions: until the next operation is due, if there is a slot for it.
double IoThread::wait_seconds(std::int64_t now) const {
  if (in_flight_ >= rule_.depth || issued_all()) return kForever;
  const std::int64_t left = std::clamp<std::int64_t>(due_ns_ - now, 0, kLongestSleepNs);
  return static_cast<double>(left) * 1e-9;
}

void IoThread::sleep_until_due(const std::atomic<bool>& stop) {
  const std::int64_t left = due_ns_ - now_ns();
  if (left > kWakeUpNs) {
    timespec pause{};
    pause.tv_nsec = std::min(left - kWakeUpNs, kLongestSleepNs);
    nanosleep(&pause, nullptr);
  }
  while (due_ns_ - now_ns() < kWakeUpNs && due_ns_ > now_ns() && !stop.load()) {
  }
}

}  // namespace tierscope
