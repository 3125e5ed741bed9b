// One thread that keeps operations in flight, and what it counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "sampling/histogram.h"
#include "storage/backend.h"
#include "storage/pattern.h"
#include "threads/disturbance.h"

namespace tierscope {

// How long operations of one direction took, in ns.
struct OperationTimes {
  bool used = false;     // Else all of it is empty, and nobody has to look.
  Histogram latency;     // From when the operation was made, or due, to its completion.
  Histogram submission;  // Of the system call that submitted it.
  Histogram completion;  // From the return of that call to the completion.
};

// What one thread did in one sample.
struct Tally {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  double lost_s = 0;  // That others took from the thread's CPU while it had something to do.
  OperationTimes of_reads;
  OperationTimes of_writes;
  Histogram sync;  // Of each fsync and fdatasync.

  void clear();
  OperationTimes& times(bool write) {
    OperationTimes& found = write ? of_writes : of_reads;
    found.used = true;
    return found;
  }
};

// How a thread works; the same for all threads of a job.
struct IoRule {
  const BackendKind* backend;
  std::uint32_t depth;
  std::uint32_t batch;      // Most operations of one submission.
  std::uint64_t amount;     // Bytes to move in a repetition; 0: until stopped.
  std::uint64_t fsync;      // After every N writes; 0: never.
  std::uint64_t fdatasync;  // The same.
  bool end_fsync;
  double rate;  // Of this thread, operations a second; 0: closed loop.
};

// What is done with blocks before they are written and after they were read.
struct BlockHooks {
  std::function<void(const IoRequest&)> before_write;
  std::function<void(const IoRequest&)> after_read;
};

class IoThread {
 public:
  // Slots 0..depth-1 are for reads; writes have slots of their own behind them where both occur.
  // Names are those of the files, for messages.
  IoThread(const IoPattern& pattern, const IoRule& rule, RequestStream stream,
           std::span<const std::string> names, BlockHooks hooks, std::uint64_t seed);

  // Makes the backend. Call it, and run(), on the thread that is to work.
  void prepare(const ThreadIo& io);

  // Works until it is stopped or has moved its amount; all its operations have ended then. Throws
  // Failure or Unavailable where one went wrong. Without `queue` nobody watches what it loses.
  void run(const std::atomic<bool>& stop, const std::atomic<std::uint64_t>& sample,
           RunQueueDelay* queue = nullptr);
  void release() { backend_.reset(); }

  // Number of the sample that it is in; all samples before it are complete. The tallies of a sample
  // and of the next one take turns.
  std::uint64_t sample() const { return sample_.load(std::memory_order_acquire); }
  Tally& tally(std::uint64_t sample) { return tallies_[sample % 2]; }

  std::int64_t finished_ns() const { return finished_ns_; }
  int last_cpu() const { return last_cpu_; }  // On which it ended.
  // What each slot's last operation was, for those that it had any of.
  std::span<const IoRequest> last_requests() const { return requests_; }
  std::span<const bool> used() const { return {used_.get(), requests_.size()}; }

 private:
  void begin(std::uint64_t sample, RunQueueDelay* queue);
  void end();
  void begin_sample(std::uint64_t sample);
  void end_sample(std::int64_t now);
  std::size_t issue(std::int64_t now);
  void take_slot(IoRequest& operation);
  void submit();
  void reap(double wait_s);
  void complete(const Completion& completion, std::int64_t now);
  [[noreturn]] void fail(const IoRequest& operation, std::int64_t result) const;
  void sync_if_due(const IoRequest& operation);
  void synced(int file, bool data_only);
  double wait_seconds(std::int64_t now) const;
  void sleep_until_due(const std::atomic<bool>& stop);
  bool issued_all() const { return rule_.amount != 0 && issued_bytes_ >= rule_.amount; }

  const IoPattern& pattern_;
  const IoRule& rule_;
  RequestStream stream_;
  std::span<const std::string> names_;
  BlockHooks hooks_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Arrivals> arrivals_;
  std::uint64_t seed_;

  std::vector<IoRequest> requests_;  // By slot.
  std::unique_ptr<bool[]> used_;
  std::vector<std::int64_t> started_ns_;        // By slot.
  std::vector<std::int64_t> submitted_ns_;      // By slot.
  std::vector<std::uint32_t> free_;             // Slots; of a mix, those of its reads.
  std::vector<std::uint32_t> free_for_writes_;  // Of a mix.
  std::vector<IoRequest> batch_;
  std::vector<Completion> ended_;
  std::uint32_t in_flight_ = 0;
  std::uint64_t issued_bytes_ = 0;
  std::uint64_t writes_since_fsync_ = 0;
  std::uint64_t writes_since_fdatasync_ = 0;
  std::int64_t opened_ns_ = 0;  // When the run began.
  std::int64_t due_ns_ = 0;     // Of the next operation of an open loop.
  std::int64_t finished_ns_ = 0;
  int last_cpu_ = -1;

  RunQueueDelay* queue_ = nullptr;  // Of the run.
  Tally tallies_[2];
  Tally* now_ = nullptr;
  alignas(64) std::atomic<std::uint64_t> sample_{0};
};

}  // namespace tierscope
