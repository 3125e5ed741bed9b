// One thread that keeps operations in flight, and what it counted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sampling/histogram.h"
#include "storage/backend.h"
#include "storage/depth_search.h"
#include "storage/pattern.h"
#include "threads/disturbance.h"
#include "threads/usage.h"

namespace tierscope {

// How long operations of one direction took, in ns.
struct OperationTimes {
  bool used = false;     // Else all of it is empty, and nobody has to look.
  Histogram latency;     // From when the operation was made, or due, to its completion.
  Histogram submission;  // Of the system call that submitted it.
  Histogram completion;  // From the return of that call to the completion.
};

// How many operations were in flight, and how many each call submitted and reaped: counts by powers
// of two, the last one for all above.
struct Depths {
  std::array<std::uint64_t, 7> in_flight{};  // 1, 2, 4, 8, 16, 32, 64 and more: of operations.
  std::array<std::uint64_t, 7> submitted{};  // Up to 0, 4, 8, 16, 32, 64 and above: of calls.
  std::array<std::uint64_t, 7> completed{};

  void add(const Depths& other);
};

// How long operations of one priority took from the return of the call that submitted them, in ns.
struct PriorityTimes {
  Histogram reads;
  Histogram writes;
};

// Of operations of a direction and, where `bytes` is not 0, a size, so many percent have a priority
// of their own.
struct CommandPriority {
  bool write;
  std::uint32_t bytes;
  int percent;
  IoPriority priority;
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
  ThreadUsage usage;
  Depths depths;
  std::vector<PriorityTimes> by_priority;  // As IoRule::priorities() has them.
  bool restarted = false;  // What was counted before, in earlier samples too, does not count.

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
  double rate;            // Of this thread, operations a second; 0: closed loop.
  double write_rate = 0;  // Of it, writes, which are then timed apart from reads.
  double delay_s = 0;     // Before the first operation.
  double time_limit_s = std::numeric_limits<double>::infinity();  // After the delay and
  double ramp_s = 0;                                              // what is not counted.
  std::uint64_t think_every = 0;  // Operations after which the thread pauses; 0: it does not.
  double think_s = 0;             // The whole pause, of which
  double think_spin_s = 0;        // so much keeps the CPU busy.
  std::optional<DepthSearchRule> search;
  IoPriority priority = 0;                          // Of the thread; 0: the one that it has.
  std::vector<CommandPriority> command_priorities;  // With backends that have any.

  // All that operations may have, the thread's at first; none where all have the thread's.
  std::vector<IoPriority> priorities() const;
};

// Threads that make operations in the ratio of their weights.
struct IoFlow {
  std::atomic<std::uint64_t> operations{0};
  std::atomic<std::uint64_t> weights{0};
};

// What a thread shares with some of the others; all of it outlives the thread.
struct IoCompany {
  std::atomic<bool>* group_ended = nullptr;  // Once set, the thread ends, too.
  std::atomic<bool>* all_ended = nullptr;    // The same.
  std::atomic<bool>* ends = nullptr;         // The one of both that it sets when it ends.
  IoFlow* flow = nullptr;
  std::uint64_t weight = 0;
  double flow_sleep_s = 0;  // While the thread is ahead of the others.
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
           std::span<const std::string> names, BlockHooks hooks, std::uint64_t seed,
           IoCompany company = {});

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
  // Of a sample that began after the thread had ended it is empty.
  Tally& tally(std::uint64_t sample) {
    static Tally nothing;  // Nobody writes to it.
    return sample > last_sample_ ? nothing : tallies_[sample % 2];
  }

  std::int64_t finished_ns() const { return finished_ns_; }
  // From its first operation that counts to its end.
  double worked_s() const { return static_cast<double>(finished_ns_ - counted_ns_) * 1e-9; }
  std::uint32_t depth() const { return depth_; }
  int last_cpu() const { return last_cpu_; }  // On which it ended.
  // What each slot's last operation of the latest run was, for those that it had any of.
  std::span<const IoRequest> last_requests() const { return requests_; }
  std::span<const bool> used() const { return {used_.get(), requests_.size()}; }

 private:
  // When the next operation of an open loop is due.
  struct Due {
    std::unique_ptr<Arrivals> arrivals;
    std::int64_t at_ns = 0;
  };

  void begin(std::uint64_t sample, RunQueueDelay* queue);
  void begin_arrivals();
  void end();
  bool is_over(const std::atomic<bool>& stop) const;
  void go_on(const std::atomic<bool>& stop, bool stopping);
  void idle(const std::atomic<bool>& stop);
  void pause();
  void nap_until(std::int64_t at_ns, std::int64_t spin_ns, const std::atomic<bool>& stop);
  bool is_ahead() const;
  bool pauses() const { return rule_.think_every != 0 && since_pause_ >= rule_.think_every; }
  void search_depth(std::uint64_t latency_ns, std::int64_t now);
  bool is_open() const { return due_[0].arrivals != nullptr; }
  Due& next_due() { return due_[1].arrivals && due_[1].at_ns < due_[0].at_ns ? due_[1] : due_[0]; }
  const Due& next_due() const { return const_cast<IoThread*>(this)->next_due(); }
  void begin_sample(std::uint64_t sample);
  void end_sample(std::int64_t now);
  std::size_t issue(std::int64_t now);
  void take_slot(IoRequest& operation);
  IoPriority chosen_priority(const IoRequest& operation);
  void note_priority(const IoRequest& operation, std::uint64_t completion_ns);
  void submit();
  void reap(double wait_s);
  void complete(const Completion& completion, std::int64_t now);
  [[noreturn]] void fail(const IoRequest& operation, std::int64_t result) const;
  void sync_if_due(const IoRequest& operation);
  void synced(int file, bool data_only);
  double wait_seconds(std::int64_t now) const;
  bool issued_all() const { return rule_.amount != 0 && issued_bytes_ >= rule_.amount; }

  const IoPattern& pattern_;
  const IoRule& rule_;
  RequestStream stream_;
  std::span<const std::string> names_;
  BlockHooks hooks_;
  std::unique_ptr<Backend> backend_;
  std::array<Due, 2> due_;  // Of all operations, or of reads and of writes.
  std::uint64_t seed_;
  std::vector<IoPriority> priorities_;
  std::uint64_t priority_state_;
  IoCompany company_;
  std::optional<DepthSearch> search_;
  std::uint32_t depth_;

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
  std::uint64_t since_pause_ = 0;     // Operations.
  std::uint64_t own_operations_ = 0;  // Of those that its flow counts.
  std::int64_t first_ns_ = 0;         // When its delay ends.
  std::int64_t opened_ns_ = 0;        // When the run began.
  std::int64_t latest_ns_ = 0;        // That is known; not later than now.
  std::int64_t resume_ns_ = 0;        // When a pause ends; 0: there is none.
  std::int64_t spin_ns_ = 0;          // At the end of the pause.
  std::int64_t until_ns_ = 0;         // When its time is over.
  std::int64_t counted_ns_ = 0;       // When what counts began.
  std::int64_t finished_ns_ = 0;
  int last_cpu_ = -1;

  RunQueueDelay* queue_ = nullptr;  // Of the run.
  Tally tallies_[2];
  Tally* now_ = nullptr;
  ThreadUsage usage_;  // When the sample began.
  std::uint64_t last_sample_ = std::numeric_limits<std::uint64_t>::max();
  alignas(64) std::atomic<std::uint64_t> sample_{0};
};

}  // namespace tierscope
