#include "storage/io_thread.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "errors.h"
#include "sampling/clock.h"
#include "splitmix64.h"

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

std::int64_t in_ns(double seconds) {
  constexpr double kLongest = 1e9;  // Seconds, so that sums of times do not overflow.
  return static_cast<std::int64_t>(std::min(seconds, kLongest) * 1e9);
}

std::size_t level_of(std::uint32_t in_flight) {
  return static_cast<std::size_t>(std::min(static_cast<int>(std::bit_width(in_flight)) - 1, 6));
}

std::size_t level_of_call(std::size_t operations) {
  if (operations == 0) return 0;
  return static_cast<std::size_t>(
      std::clamp(static_cast<int>(std::bit_width(operations - 1)) - 1, 1, 6));
}

}  // namespace

void Depths::add(const Depths& other) {
  for (std::size_t i = 0; i < in_flight.size(); ++i) {
    in_flight[i] += other.in_flight[i];
    submitted[i] += other.submitted[i];
    completed[i] += other.completed[i];
  }
}

std::vector<IoPriority> IoRule::priorities() const {
  if (command_priorities.empty()) return {};
  std::vector<IoPriority> found{priority};
  for (const CommandPriority& one : command_priorities) {
    if (std::ranges::find(found, one.priority) == found.end()) found.push_back(one.priority);
  }
  return found;
}

void Tally::clear() {
  start_ns = end_ns = 0;
  reads = writes = bytes_read = bytes_written = 0;
  lost_s = 0;
  for (OperationTimes* const times : {&of_reads, &of_writes}) {
    if (times->used) *times = OperationTimes{};
  }
  sync.clear();
  for (PriorityTimes& times : by_priority) times = PriorityTimes{};
  usage = {};
  depths = {};
  restarted = false;
}

IoThread::IoThread(const IoPattern& pattern, const IoRule& rule, RequestStream stream,
                   std::span<const std::string> names, BlockHooks hooks, std::uint64_t seed,
                   IoCompany company)
    : pattern_(pattern),
      rule_(rule),
      stream_(std::move(stream)),
      names_(names),
      hooks_(std::move(hooks)),
      seed_(seed),
      priorities_(rule.priorities()),
      priority_state_(seed),
      company_(company),
      depth_(rule.depth) {
  const std::uint32_t slots = pattern.operation == IoOperation::kMix ? 2 * rule.depth : rule.depth;
  requests_.resize(slots);
  used_ = std::make_unique<bool[]>(slots);
  started_ns_.resize(slots);
  submitted_ns_.resize(slots);
  batch_.reserve(rule.batch);
  ended_.resize(rule.depth);
  for (Tally& tally : tallies_) tally.by_priority.resize(priorities_.size());
  for (std::uint32_t slot = rule.depth; slot-- > 0;) free_.push_back(slot);
  for (std::uint32_t slot = slots; slot-- > slots - rule.depth;) free_for_writes_.push_back(slot);
}

void IoThread::prepare(const ThreadIo& io) { backend_ = rule_.backend->make(io); }

void IoThread::run(const std::atomic<bool>& stop, const std::atomic<std::uint64_t>& sample,
                   RunQueueDelay* queue) {
  const ThreadIoPriority priority(rule_.priority);
  begin(sample.load(), queue);
  while (true) {
    const bool stopping = is_over(stop);
    if (stopping && in_flight_ == 0) break;
    const std::uint64_t wanted = sample.load(std::memory_order_relaxed);
    if (wanted != sample_.load(std::memory_order_relaxed)) begin_sample(wanted);
    go_on(stop, stopping);
  }
  end();
}

bool IoThread::is_over(const std::atomic<bool>& stop) const {
  const auto is_set = [](const std::atomic<bool>* flag) {
    return flag != nullptr && flag->load(std::memory_order_relaxed);
  };
  return is_set(&stop) || issued_all() || latest_ns_ >= until_ns_ || is_set(company_.group_ended) ||
         is_set(company_.all_ended);
}

void IoThread::go_on(const std::atomic<bool>& stop, bool stopping) {
  const bool held = stopping || resume_ns_ != 0;
  while (!held && in_flight_ < depth_ && issue(is_open() ? now_ns() : 0) > 0) {
  }
  if (in_flight_ > 0) {
    reap(held || !is_open() ? kForever : wait_seconds(now_ns()));
  } else {
    idle(stop);
  }
}

// Nothing is in flight, and nothing may be issued now.
void IoThread::idle(const std::atomic<bool>& stop) {
  if (resume_ns_ != 0) {
    nap_until(resume_ns_, spin_ns_, stop);
    if (latest_ns_ < resume_ns_) return;
    resume_ns_ = 0;
    if (search_) search_->begin(latest_ns_);
  } else if (pauses()) {
    pause();
  } else if (is_open()) {
    nap_until(next_due().at_ns, kWakeUpNs, stop);
  } else if (company_.flow != nullptr) {
    nap_until(now_ns() + in_ns(company_.flow_sleep_s), kWakeUpNs, stop);
  }
}

void IoThread::pause() {
  since_pause_ = 0;
  spin_ns_ = std::max(in_ns(rule_.think_spin_s), kWakeUpNs);
  resume_ns_ = now_ns() + in_ns(rule_.think_s);
}

void IoThread::begin(std::uint64_t sample, RunQueueDelay* queue) {
  prctl(PR_SET_TIMERSLACK, 1);
  queue_ = queue;
  if (queue_ != nullptr) queue_->lost_s();  // Before the first sample.
  issued_bytes_ = 0;
  in_flight_ = 0;
  since_pause_ = own_operations_ = 0;
  last_sample_ = std::numeric_limits<std::uint64_t>::max();
  std::fill_n(used_.get(), requests_.size(), false);  // Buffers may be others than in the last run.
  opened_ns_ = latest_ns_ = now_ns();
  usage_ = usage_of_thread();
  first_ns_ = opened_ns_ + in_ns(rule_.delay_s);
  resume_ns_ = rule_.delay_s > 0 ? first_ns_ : 0;
  spin_ns_ = kWakeUpNs;
  counted_ns_ = first_ns_ + in_ns(rule_.ramp_s);
  until_ns_ = counted_ns_ + in_ns(rule_.time_limit_s);
  if (rule_.search) {
    search_.emplace(*rule_.search, rule_.depth);
    search_->begin(first_ns_);
    depth_ = search_->depth();
  }
  if (company_.flow != nullptr) company_.flow->weights += company_.weight;
  begin_arrivals();
  sample_.store(sample);
  begin_sample(sample);
  now_->start_ns = opened_ns_;
}

void IoThread::begin_arrivals() {
  const auto make = [this](Due& due, double rate, std::uint64_t seed) {
    if (rate <= 0) return;
    due.arrivals = std::make_unique<Arrivals>(rate, pattern_.poisson, seed);
    due.at_ns = first_ns_ + static_cast<std::int64_t>(due.arrivals->next_ns());
  };
  make(due_[0], rule_.rate - rule_.write_rate, seed_);
  make(due_[1], rule_.write_rate, ~seed_);
}

// Whether the threads that it shares a flow with have made less than their share.
bool IoThread::is_ahead() const {
  if (company_.flow == nullptr) return false;
  const IoFlow& flow = *company_.flow;
  const double all = static_cast<double>(flow.operations.load(std::memory_order_relaxed));
  const double weights = static_cast<double>(flow.weights.load(std::memory_order_relaxed));
  return static_cast<double>(own_operations_) * weights >
         all * static_cast<double>(company_.weight);
}

void IoThread::reap(double wait_s) {
  const std::size_t count = backend_->reap(ended_, wait_s > 0 ? 1 : 0, wait_s);
  const std::int64_t now = rule_.backend->synchronous ? 0 : now_ns();
  if (!rule_.backend->synchronous) {
    latest_ns_ = now;
    ++now_->depths.completed[level_of_call(count)];
  }
  for (std::size_t i = 0; i < count; ++i) complete(ended_[i], now);
}

void IoThread::end() {
  if (rule_.end_fsync) {
    for (std::size_t file = 0; file < names_.size(); ++file) synced(static_cast<int>(file), false);
  }
  finished_ns_ = now_ns();
  last_cpu_ = sched_getcpu();
  end_sample(finished_ns_);
  if (company_.ends != nullptr) company_.ends->store(true);
  if (company_.flow != nullptr) {
    company_.flow->weights -= company_.weight;
    company_.flow->operations -= own_operations_;
  }
  last_sample_ = sample_.load(std::memory_order_relaxed);
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
  now_->start_ns = std::clamp(first_ns_, now_->start_ns, now);  // The delay is nobody's time.
  if (queue_ != nullptr) now_->lost_s = queue_->lost_s();
  if (rule_.backend->synchronous) {  // One at a time.
    const std::uint64_t operations = now_->reads + now_->writes;
    now_->depths.in_flight[0] = now_->depths.submitted[1] = now_->depths.completed[1] = operations;
  }
  const ThreadUsage used = usage_of_thread();
  now_->usage.add(used);
  now_->usage.add(usage_, -1);
  usage_ = used;
}

std::size_t IoThread::issue(std::int64_t now) {
  batch_.clear();
  if (is_open()) latest_ns_ = now;
  while (in_flight_ + batch_.size() < depth_ && batch_.size() < rule_.batch && !issued_all()) {
    if (pauses() || is_ahead()) break;
    Due* const due = is_open() ? &next_due() : nullptr;
    if (due != nullptr && due->at_ns > now) break;
    const bool apart = due != nullptr && due_[1].arrivals != nullptr;
    IoRequest operation = stream_.next(apart ? std::optional<bool>(due == &due_[1]) : std::nullopt);
    operation.priority = chosen_priority(operation);
    take_slot(operation);
    if (due != nullptr) {
      started_ns_[operation.slot] = due->at_ns;
      due->at_ns = first_ns_ + static_cast<std::int64_t>(due->arrivals->next_ns());
    }
    issued_bytes_ += operation.bytes;
    ++since_pause_;
    if (company_.flow != nullptr) {
      ++own_operations_;
      company_.flow->operations.fetch_add(1, std::memory_order_relaxed);
    }
    if (operation.write && hooks_.before_write) hooks_.before_write(operation);
    batch_.push_back(operation);
    if (rule_.backend->synchronous) break;
  }
  if (!batch_.empty()) submit();
  return batch_.size();
}

IoPriority IoThread::chosen_priority(const IoRequest& operation) {
  if (rule_.command_priorities.empty()) return 0;
  auto drawn = static_cast<int>(splitmix64(priority_state_) % 100);
  for (const CommandPriority& one : rule_.command_priorities) {
    if (one.write != operation.write || (one.bytes != 0 && one.bytes != operation.bytes)) continue;
    if (drawn < one.percent) return one.priority;
    drawn -= one.percent;
  }
  return 0;
}

void IoThread::note_priority(const IoRequest& operation, std::uint64_t completion_ns) {
  const IoPriority own = operation.priority != 0 ? operation.priority : rule_.priority;
  const auto at = std::ranges::find(priorities_, own) - priorities_.begin();
  PriorityTimes& times = now_->by_priority[static_cast<std::size_t>(at)];
  (operation.write ? times.writes : times.reads).record(completion_ns);
}

void IoThread::take_slot(IoRequest& operation) {
  std::vector<std::uint32_t>& free =
      operation.write && pattern_.operation == IoOperation::kMix ? free_for_writes_ : free_;
  operation.slot = free.back();
  free.pop_back();
}

void IoThread::submit() {
  const std::int64_t before = now_ns();
  backend_->submit(batch_);
  const std::int64_t after = latest_ns_ = now_ns();
  std::array<std::uint64_t, 2> submitted{};  // Reads, writes.
  for (const IoRequest& operation : batch_) {
    requests_[operation.slot] = operation;
    used_[operation.slot] = true;
    if (!is_open()) started_ns_[operation.slot] = before;
    submitted_ns_[operation.slot] = after;
    ++submitted[operation.write ? 1 : 0];
  }
  in_flight_ += static_cast<std::uint32_t>(batch_.size());
  if (rule_.backend->synchronous) return;
  for (const bool write : {false, true}) {
    const std::uint64_t count = submitted[write ? 1 : 0];
    if (count > 0) now_->times(write).submission.record(not_negative(after - before), count);
  }
  now_->depths.in_flight[level_of(in_flight_)] += batch_.size();
  ++now_->depths.submitted[level_of_call(batch_.size())];
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
    const std::uint64_t completion_ns = not_negative(ended - submitted_ns_[slot]);
    times.completion.record(completion_ns);
    if (!priorities_.empty()) note_priority(operation, completion_ns);
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
  if (search_) search_depth(latency, ended);
}

void IoThread::search_depth(std::uint64_t latency_ns, std::int64_t now) {
  if (!search_ || resume_ns_ != 0) return;  // Of the depth before.
  const DepthSearch::Step step = search_->note(latency_ns, now);
  if (step == DepthSearch::Step::kNone) return;
  if (step == DepthSearch::Step::kOver) {
    until_ns_ = now;
    return;
  }
  depth_ = search_->depth();
  resume_ns_ = now;  // As soon as nothing is in flight.
  if (step != DepthSearch::Step::kSettled) return;
  const std::int64_t start = now_->start_ns;
  now_->clear();
  now_->start_ns = std::max(start, now);
  now_->restarted = true;
  counted_ns_ = now;
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
  if (result == -EPERM && operation.priority != 0) refuse_priority(operation.priority);
  if (result == -EINVAL) {
    throw Unavailable(
        Cause::kStorage, what + ": the file system refuses it (EINVAL)",
        "direct I/O needs offsets and sizes that are multiples of the device's block; "
        "say --direct no, or larger blocks");
  }
  if (result == -EOPNOTSUPP) {
    throw Unavailable(Cause::kStorage, what + ": its file system cannot do that (EOPNOTSUPP)",
                      "name a directory on another file system");
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
  if (in_flight_ >= depth_ || issued_all()) return kForever;
  const std::int64_t left = std::clamp<std::int64_t>(next_due().at_ns - now, 0, kLongestSleepNs);
  return static_cast<double>(left) * 1e-9;
}

// Sleeps until then, at most for kLongestSleepNs, and is busy for the last `spin_ns`.
void IoThread::nap_until(std::int64_t at_ns, std::int64_t spin_ns, const std::atomic<bool>& stop) {
  const std::int64_t left = at_ns - now_ns();
  if (left > spin_ns) {
    timespec pause{};
    pause.tv_nsec = std::min(left - spin_ns, kLongestSleepNs);
    nanosleep(&pause, nullptr);
  }
  while (at_ns - now_ns() < spin_ns && at_ns > now_ns() && !stop.load()) {
  }
  latest_ns_ = now_ns();
}

}  // namespace tierscope
