// Operations on small files: create, open, stat, read, list, unlink.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "interrupt.h"
#include "kinds/evidence.h"
#include "kinds/io_spec.h"
#include "protocol/constants.h"
#include "protocol/plan_parts.h"
#include "sampling/clock.h"
#include "storage/small_files.h"
#include "threads/cpu_sets.h"
#include "threads/disturbance.h"
#include "threads/usage.h"

namespace tierscope {
namespace {

enum class FileOperation { kCreate, kOpen, kStat, kRead, kList, kUnlink };

struct FilesSpec {
  SamplingRule sampling;
  CpuSets threads;  // The CPUs that each may run on.
  std::string directory;
  FileOperation operation;
  std::uint64_t bytes;  // Of each file.
  std::size_t count;    // Files in each directory.
  bool shared;          // One directory for all threads, who have their shares of its files.
  FileSync sync;
  bool large;
  bool own_ends;  // A repetition is one sample, in which each thread uses each of its files once.
};

// A thread with its files, the numbers first to last - 1 of a directory.
struct Worker {
  SmallFiles* files;
  std::size_t first;
  std::size_t last;
  std::size_t next;
  std::vector<std::byte> buffer;
  std::optional<RunQueueDelay> queue;
  // Of the sample in hand.
  std::uint64_t operations;
  std::int64_t begin_ns;
  std::int64_t end_ns;
  double lost_s;
  Histogram latency;
  ThreadUsage usage;
  int cpu = -1;  // On which it ended.

  double seconds() const { return static_cast<double>(end_ns - begin_ns) * 1e-9; }
};

class Files : public State {
 public:
  explicit Files(FilesSpec spec) : spec_(std::move(spec)) {}

  // Every repetition has new directories: what one leaves behind, in them or in caches, is not in
  // the next one, and no more than one measurement's files exist at a time.
  void open(Leases& leases) override {
    const double begin = now_seconds();
    directories_.clear();
    const std::size_t threads = spec_.threads.size();
    const std::size_t directories = spec_.shared ? 1 : threads;
    check_room(spec_.directory, directories * spec_.count, spec_.bytes, spec_.large);
    for (std::size_t i = 0; i < directories; ++i) {
      directories_.push_back(
          std::make_unique<SmallFiles>(spec_.directory, spec_.count, spec_.bytes));
    }
    workers_.resize(threads);
    for (std::size_t i = 0; i < threads; ++i) {
      const std::size_t share = spec_.shared ? i : 0;
      const std::size_t shares = spec_.shared ? threads : 1;
      workers_[i].files = directories_[spec_.shared ? 0 : i].get();
      workers_[i].first = workers_[i].next = spec_.count * share / shares;
      workers_[i].last = spec_.count * (share + 1) / shares;
      workers_[i].buffer.resize(spec_.bytes + 1);
    }
    team_ = &leases.team(spec_.threads);
    operations_ = 0;
    team_->run([this](int thread) {
      workers_[static_cast<std::size_t>(thread)].queue = watch_run_queue(*team_, thread);
    });
    restore();
    set_up_s_ = now_seconds() - begin;
  }

  std::vector<Series> series() override {
    Series series{.name = spec_.own_ends ? "passes" : "windows",
                  .take = [this] { return take(); },
                  .samples = spec_.own_ends ? 1 : 0,
                  .watched_cpus = watched_cpus(*team_),
                  .keep_disturbed = true};
    for (const std::string& part : parts()) {
      series.columns.push_back({.metric = "operations", .part = part});
      series.distributions.push_back({.metric = "io_latency", .part = part});
    }
    return {series};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    for (const Worker& worker : workers_) evidence["cpus"].push_back(worker.cpu);
    nlohmann::ordered_json& small_files = evidence["small_files"];
    small_files = {{"directories", directories_.size()},
                   {"files", directories_.size() * spec_.count},
                   {"operations", operations_},
                   {"caches", "warm"},
                   {"set_up_s", set_up_s_}};
    for (const Worker& worker : workers_) {
      if (!spec_.own_ends) break;
      nlohmann::ordered_json thread = usage_evidence(worker.usage, worker.seconds());
      thread["operations"] = worker.operations;
      small_files["threads"].push_back(std::move(thread));
    }
    directories_.clear();
  }

 private:
  // Of figures: all threads and, where each has an end of its own, each.
  std::vector<std::string> parts() const {
    std::vector<std::string> found{""};
    if (!spec_.own_ends || spec_.threads.size() == 1) return found;
    for (std::size_t i = 0; i < spec_.threads.size(); ++i) {
      found.push_back(fmt::format("thread {}", i));
    }
    return found;
  }

  // Files are there, or not, as the next sample needs them, and those that it unlinks are the ones
  // that were made; untimed.
  void restore() {
    const bool there = spec_.operation != FileOperation::kCreate;
    team_->run([&](int thread) {
      Worker& worker = workers_[static_cast<std::size_t>(thread)];
      for (std::size_t i = worker.first; i < worker.last; ++i) {
        if (interrupted()) throw Interrupted();
        if (worker.files->exists(i) == there) {
          if (spec_.operation == FileOperation::kUnlink) worker.files->look_at(i);
          continue;
        }
        // What a file's removal takes depends on whether its blocks are on the drive already.
        const bool synced = spec_.sync != FileSync::kNone;
        if (there) {
          worker.files->create(i, synced ? FileSync::kFile : FileSync::kNone);
        } else {
          worker.files->remove(i);
        }
      }
    });
  }

  // Threads work until the time is over or, where operations use files up, the first of them has
  // none left; with own_ends until each has used its files. The rate is all of their operations
  // over the time from the first one's begin to the last one's end: where there are more threads
  // than CPUs, some work while others wait.
  Sample take() {
    const bool uses_up =
        spec_.operation == FileOperation::kCreate || spec_.operation == FileOperation::kUnlink;
    if (uses_up) restore();
    std::atomic<bool> over{false};
    team_->run(
        [&](int thread) { work(workers_[static_cast<std::size_t>(thread)], uses_up, over); });
    Sample sample{};
    Histogram latency;
    std::uint64_t operations = 0;
    std::int64_t begin = std::numeric_limits<std::int64_t>::max();
    std::int64_t end = 0;
    for (const Worker& worker : workers_) {
      operations += worker.operations;
      begin = std::min(begin, worker.begin_ns);
      end = std::max(end, worker.end_ns);
      latency.add(worker.latency);
      sample.lost_share = std::max(sample.lost_share, worker.lost_s / worker.seconds());
    }
    operations_ += operations;
    sample.start_s = static_cast<double>(begin) * 1e-9;
    sample.duration_s = static_cast<double>(end - begin) * 1e-9;
    sample.histograms.push_back(latency.counts());
    sample.values = {static_cast<double>(operations) / sample.duration_s};
    if (parts().size() == 1) return sample;
    for (const Worker& worker : workers_) {
      sample.values.push_back(static_cast<double>(worker.operations) / worker.seconds());
      sample.histograms.push_back(worker.latency.counts());
    }
    return sample;
  }

  void work(Worker& worker, bool uses_up, std::atomic<bool>& over) const {
    const auto most_ns = static_cast<std::int64_t>(spec_.sampling.sample_s * 1e9);
    worker.operations = 0;
    worker.latency.clear();
    if (uses_up || spec_.own_ends) worker.next = worker.first;
    if (!team_->shares_cpus()) team_->pass_gate();
    const ThreadUsage before = usage_of_thread();
    if (worker.queue) worker.queue->lost_s();  // Before the sample.
    worker.begin_ns = now_ns();
    std::int64_t spent_ns = 0;
    do {
      if (interrupted()) throw Interrupted();
      const std::int64_t ns = operate(worker, worker.next++);
      worker.latency.record(static_cast<std::uint64_t>(ns));
      spent_ns += ns;
      if (worker.queue) worker.queue->look(spent_ns);
      ++worker.operations;
      if (worker.next == worker.last) {
        worker.next = worker.first;
        if (uses_up || spec_.own_ends) break;
      }
    } while (spec_.own_ends || (spent_ns < most_ns && !over.load(std::memory_order_relaxed)));
    worker.end_ns = now_ns();
    worker.usage = usage_of_thread();
    worker.usage.add(before, -1);
    worker.cpu = sched_getcpu();
    worker.lost_s = worker.queue ? worker.queue->lost_s() : 0;
    over.store(true, std::memory_order_relaxed);
  }

  std::int64_t operate(Worker& worker, std::size_t index) const {
    switch (spec_.operation) {
      case FileOperation::kCreate:
        return worker.files->create(index, spec_.sync);
      case FileOperation::kOpen:
        return worker.files->open(index);
      case FileOperation::kStat:
        return worker.files->stat(index);
      case FileOperation::kRead:
        return worker.files->read(index, worker.buffer);
      case FileOperation::kList:
        return worker.files->list();
      default:
        return worker.files->unlink(index, spec_.sync);
    }
  }

  FilesSpec spec_;
  std::vector<std::unique_ptr<SmallFiles>> directories_;
  std::vector<Worker> workers_;  // One a thread.
  Team* team_ = nullptr;
  std::uint64_t operations_ = 0;
  double set_up_s_ = 0;
};

void read_pattern(const ObjectReader& pattern, FilesSpec& spec) {
  static constexpr std::array<std::pair<std::string_view, FileOperation>, 6> kOperations{
      {{"create", FileOperation::kCreate},
       {"open", FileOperation::kOpen},
       {"stat", FileOperation::kStat},
       {"read", FileOperation::kRead},
       {"list", FileOperation::kList},
       {"unlink", FileOperation::kUnlink}}};
  static constexpr std::array<std::pair<std::string_view, FileSync>, 3> kSyncs{
      {{"no", FileSync::kNone}, {"file", FileSync::kFile}, {"directory", FileSync::kDirectory}}};
  static constexpr std::array<std::pair<std::string_view, bool>, 2> kDirectories{
      {{"own", false}, {"shared", true}}};
  spec.operation = pattern.choice("operation", kOperations);
  spec.bytes = pattern.integer<std::uint64_t>("file_size");
  spec.count = pattern.integer<std::size_t>("files");
  spec.shared = pattern.choice("directories", kDirectories);
  spec.sync = pattern.choice("fsync", kSyncs);
}

}  // namespace

MakeState parse_files(const ObjectReader& measurement) {
  FilesSpec spec{};
  spec.sampling = read_sampling(measurement);
  spec.threads = read_threads(measurement);
  spec.directory = measurement.text("directory");
  spec.large = measurement.boolean("large");
  spec.own_ends = measurement.boolean("own_ends");
  read_pattern(measurement.object("pattern"), spec);
  measurement.check(tables::kFilesSpecPatternFiles,
                    !spec.shared || spec.count >= spec.threads.size());
  return [spec = std::move(spec)] { return std::make_unique<Files>(spec); };
}

}  // namespace tierscope
