// Bandwidth, IOPS and latency of files and block devices.
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <thread>

#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "interrupt.h"
#include "kinds/evidence.h"
#include "kinds/io_job.h"
#include "kinds/io_spec.h"
#include "sampling/clock.h"
#include "storage/device_counters.h"
#include "storage/gpu_io.h"
#include "storage/io_runner.h"

namespace tierscope {
namespace {

// From this block size on the headline is bandwidth.
constexpr std::uint32_t kBandwidthFrom = 512U << 10;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double process_cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// What some threads did in a row, as rates.
struct Rates {
  double reads = 0;
  double writes = 0;
  double bytes_read = 0;
  double bytes_written = 0;
};

void sleep_for(double seconds) {
  constexpr double kLongest = 0.05;
  const double end = now_seconds() + seconds;
  while (now_seconds() < end) {
    if (interrupted()) throw Interrupted();
    const double left = end - now_seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, kLongest)));
  }
}

class Io : public State {
 public:
  explicit Io(IoSpec spec) : spec_(std::move(spec)) {
    for (const IoJobSpec& job : spec_.jobs) {
      cpus_.insert(cpus_.end(), job.cpus.begin(), job.cpus.end());
    }
  }
  ~Io() override { runner_.reset(); }

  void open(Leases& leases) override {
    runner_.reset();
    const double begin = now_seconds();
    watch_gpus();  // Before files are made for nothing, where there is no GPU.
    team_ = &leases.team(cpus_);
    if (jobs_.empty()) {
      std::size_t first = 0;
      for (const IoJobSpec& job : spec_.jobs) {
        jobs_.push_back(std::make_unique<IoJob>(spec_, job, leases.files(), first));
        first += job.cpus.size();
      }
      std::vector<dev_t> devices;
      for (const auto& job : jobs_) {
        for (const dev_t device : job->devices()) devices.push_back(device);
      }
      counters_ = std::make_unique<DeviceCounters>(devices);
    }
    threads_.clear();
    for (const auto& job : jobs_) {
      job->open(leases, *team_);
      for (IoThread& thread : job->threads()) threads_.push_back(&thread);
    }
    runner_ = std::make_unique<IoRunner>(*team_, threads_, [this](std::size_t thread) {
      for (const auto& job : jobs_) {
        if (job->has(thread)) job->prepare(thread);
      }
    });
    set_up_s_ = now_seconds() - begin;
    operations_ = {};
    if (spec_.amount == 0) start();
  }

  std::vector<Series> series() override {
    Series series{.name = spec_.amount == 0 ? "windows" : "passes",
                  .columns = columns(),
                  .take = [this] { return spec_.amount == 0 ? window() : pass(); },
                  .rows = spec_.amount == 0 ? 0 : 1,
                  .watched_cpus = {}};
    series.distributions.push_back({.metric = "io_latency", .part = ""});
    if (!spec_.backend->synchronous) {
      series.distributions.push_back({.metric = "submission_latency", .part = ""});
      series.distributions.push_back({.metric = "completion_latency", .part = ""});
    }
    if (syncs()) series.distributions.push_back({.metric = "sync_latency", .part = ""});
    series.keep_disturbed = true;
    return {series};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    runner_->stop();
    if (watch_) watch_->stop();
    std::vector<const Region*> regions;
    for (const auto& job : jobs_) {
      if (job->region() != nullptr) regions.push_back(job->region());
    }
    if (!regions.empty()) evidence = region_evidence(regions);
    evidence["cpus"] = cpus_;
    observe_drives(evidence);
    nlohmann::ordered_json& io = evidence["storage_io"];
    io["set_up_s"] = set_up_s_;
    io["reads"] = operations_.reads;
    io["writes"] = operations_.writes;
    io["bytes_read"] = operations_.bytes_read;
    io["bytes_written"] = operations_.bytes_written;
    if (spec_.amount != 0) {
      io["first_finisher_s"] = first_finisher_s_;
      io["last_finisher_s"] = last_finisher_s_;
    }
    std::vector<std::string> verified;
    for (const auto& job : jobs_) {
      job->observe(io);
      if (std::string text = job->verify(); !text.empty()) verified.push_back(std::move(text));
    }
    if (!verified.empty()) evidence["verified"] = fmt::format("{}", fmt::join(verified, "; "));
    runner_.reset();
    if (watch_) watch_->report(evidence, spec_.require, spec_.direct);
  }

 private:
  struct Counts {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
  };

  bool syncs() const { return spec_.fsync != 0 || spec_.fdatasync != 0; }
  bool by_iops() const { return spec_.pattern.largest_block() < kBandwidthFrom; }
  bool mixed() const { return spec_.pattern.operation == IoOperation::kMix; }

  std::vector<Column> columns() const {
    std::vector<Column> found;
    const auto add = [&](const std::string& part) {
      found.push_back({.metric = by_iops() ? "iops" : "bandwidth", .part = part});
      found.push_back({.metric = by_iops() ? "bandwidth" : "iops", .part = part});
    };
    add("");
    found.push_back({.metric = "cpu_per_operation", .part = ""});
    if (mixed()) {
      add("read");
      add("write");
    }
    if (jobs_.size() > 1) {
      for (const IoJobSpec& job : spec_.jobs) add(job.name);
    }
    return found;
  }

  void start() {
    const double begin = now_seconds();
    if (watch_) watch_->restart();
    runner_->start();
    set_up_s_ += now_seconds() - begin;
    cpu_s_ = process_cpu_seconds();
    moved_before_ = counters_->read();
  }

  void watch_gpus() {
    std::vector<int> gpus;
    for (const IoJobSpec& job : spec_.jobs) {
      const int gpu = job.buffers.gpu;
      if (gpu >= 0 && std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
    }
    watch_.reset();
    if (!gpus.empty()) watch_ = watch_gpu_io(gpus, spec_.backend->name, cpus_.front());
  }

  void observe_drives(nlohmann::ordered_json& evidence) const {
    const std::optional<DeviceBytes> moved = counters_->read();
    if (!moved || !moved_before_) return;
    evidence["device_bytes_read"] = moved->read - moved_before_->read;
    evidence["device_bytes_written"] = moved->written - moved_before_->written;
  }

  // A row of so many seconds, cut out of operations that go on without a pause.
  Row window() {
    sleep_for(spec_.sampling.sample_s);
    const std::uint64_t row = runner_->end_row();
    return row_of(row, 0);
  }

  // A row in which each thread moves its amount.
  Row pass() {
    start();
    const std::uint64_t row = runner_->finish();
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t start = first;
    std::int64_t last = 0;
    for (IoThread* const thread : threads_) {
      start = std::min(start, thread->tally(row).start_ns);
      first = std::min(first, thread->finished_ns());
      last = std::max(last, thread->finished_ns());
    }
    first_finisher_s_ = static_cast<double>(first - start) * 1e-9;
    last_finisher_s_ = static_cast<double>(last - start) * 1e-9;
    return row_of(row, last_finisher_s_);
  }

  // Rates are each thread's operations over the thread's own time, which ends between two of its
  // operations; of a pass, all operations over the time until the last thread ended (`pass_s`).
  Row row_of(std::uint64_t number, double pass_s) {
    Row row{};
    row.histograms.resize(1 + (spec_.backend->synchronous ? 0 : 2) + (syncs() ? 1 : 0));
    Rates total;
    std::vector<Rates> by_job(jobs_.size());
    double operations = 0;
    double seconds = 0;
    std::int64_t start = std::numeric_limits<std::int64_t>::max();
    std::size_t index = 0;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      for (std::size_t i = 0; i < jobs_[job]->threads().size(); ++i) {
        const Tally& tally = threads_[index++]->tally(number);
        const double own = static_cast<double>(tally.end_ns - tally.start_ns) * 1e-9;
        seconds += own;
        start = std::min(start, tally.start_ns);
        add(tally, pass_s > 0 ? pass_s : own, by_job[job]);
        add(tally, pass_s > 0 ? pass_s : own, total);
        operations += static_cast<double>(tally.reads + tally.writes);
        merge(tally, row.histograms);
        count(tally);
      }
    }
    row.start_s = static_cast<double>(start) * 1e-9;
    row.duration_s = pass_s > 0 ? pass_s : seconds / static_cast<double>(threads_.size());
    const double cpu = process_cpu_seconds();
    const double used = cpu - std::exchange(cpu_s_, cpu);
    push(row, total.reads + total.writes, total.bytes_read + total.bytes_written);
    row.values.push_back(operations > 0 ? used * 1e9 / operations : kNone);
    if (mixed()) {
      push(row, total.reads, total.bytes_read);
      push(row, total.writes, total.bytes_written);
    }
    if (jobs_.size() > 1) {
      for (const Rates& job : by_job) {
        push(row, job.reads + job.writes, job.bytes_read + job.bytes_written);
      }
    }
    return row;
  }

  void push(Row& row, double operations, double bytes) const {
    row.values.push_back(by_iops() ? operations : bytes);
    row.values.push_back(by_iops() ? bytes : operations);
  }

  static void add(const Tally& tally, double seconds, Rates& rates) {
    if (seconds <= 0) return;
    rates.reads += static_cast<double>(tally.reads) / seconds;
    rates.writes += static_cast<double>(tally.writes) / seconds;
    rates.bytes_read += static_cast<double>(tally.bytes_read) / seconds;
    rates.bytes_written += static_cast<double>(tally.bytes_written) / seconds;
  }

  void merge(const Tally& tally, std::vector<Histogram>& histograms) const {
    std::size_t next = 0;
    histograms[next++].add(tally.latency);
    if (!spec_.backend->synchronous) {
      histograms[next++].add(tally.submission);
      histograms[next++].add(tally.completion);
    }
    if (syncs()) histograms[next].add(tally.sync);
  }

  void count(const Tally& tally) {
    operations_.reads += tally.reads;
    operations_.writes += tally.writes;
    operations_.bytes_read += tally.bytes_read;
    operations_.bytes_written += tally.bytes_written;
  }

  IoSpec spec_;
  std::vector<int> cpus_;
  std::vector<std::unique_ptr<IoJob>> jobs_;
  std::vector<IoThread*> threads_;
  std::unique_ptr<IoRunner> runner_;
  Team* team_ = nullptr;
  std::unique_ptr<DeviceCounters> counters_;
  std::unique_ptr<GpuIoWatch> watch_;  // Where GPUs take part.
  std::optional<DeviceBytes> moved_before_;
  Counts operations_;
  double cpu_s_ = 0;
  double set_up_s_ = 0;
  double first_finisher_s_ = 0;
  double last_finisher_s_ = 0;
};

}  // namespace

MakeState parse_io(ObjectReader& measurement) {
  IoSpec spec = read_io_spec(measurement);
  return [spec = std::move(spec)] { return std::make_unique<Io>(spec); };
}

}  // namespace tierscope
