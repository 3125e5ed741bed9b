// Bandwidth, IOPS and latency of files and block devices.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "interrupt.h"
#include "kinds/drive_watch.h"
#include "kinds/evidence.h"
#include "kinds/io_job.h"
#include "kinds/io_samples.h"
#include "kinds/io_spec.h"
#include "kinds/io_targets.h"
#include "sampling/clock.h"
#include "storage/gpu_io.h"
#include "storage/io_runner.h"
#include "storage/page_cache.h"

namespace tierscope {
namespace {

double process_cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Later than every generation that this process or an earlier one has written.
std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> last{0};
  const auto now = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
  return last = std::max(last + 1, now);
}

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
  explicit Io(IoSpec spec) : spec_(std::move(spec)), samples_(spec_), targets_(spec_) {
    for (const IoJobSpec& job : spec_.jobs) {
      cpus_.insert(cpus_.end(), job.threads.begin(), job.threads.end());
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
        jobs_.push_back(
            std::make_unique<IoJob>(job, leases.files(), first, spec_.own_ends, company_of(job)));
        first += job.threads.size();
      }
      std::vector<dev_t> devices;
      for (const auto& job : jobs_) {
        for (const dev_t device : job->devices()) devices.push_back(device);
      }
      drives_ = std::make_unique<DriveWatch>(devices);
    }
    list_threads();
    const IoRepetition repetition{.generation = next_generation(),
                                  .cacheable_bytes = cacheable_bytes() / jobs_.size()};
    for (const auto& job : jobs_) {
      if (leases.fresh()) job->purge();
      job->open(leases, *team_, repetition);
    }
    runner_ = std::make_unique<IoRunner>(*team_, threads_, [this](std::size_t thread) {
      for (const auto& job : jobs_) {
        if (job->has(thread)) job->prepare(thread);
      }
    });
    set_up_s_ = now_seconds() - begin;
    if (by_time()) start();
  }

  std::vector<Series> series() override {
    Series series{.name = by_time() ? "windows" : "passes",
                  .columns = samples_.columns(),
                  .take = [this] { return by_time() ? window() : pass(); },
                  .samples = by_time() ? 0 : 1,
                  .watched_cpus = watched_cpus(*team_),
                  .distributions = samples_.distributions()};
    series.keep_disturbed = true;
    if (spec_.own_ends) series.was_last = [this] { return all_ended_; };
    return {series};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    runner_->stop();
    if (watch_) watch_->stop();
    if (spec_.own_ends) targets_.note_ends(threads_of_);
    std::vector<const Region*> regions;
    for (const auto& job : jobs_) {
      if (job->region() != nullptr) regions.push_back(job->region());
    }
    if (!regions.empty()) evidence = region_evidence(regions);
    for (const IoThread* const thread : threads_) evidence["cpus"].push_back(thread->last_cpu());
    drives_->observe(evidence);
    nlohmann::ordered_json& io = evidence["storage_io"];
    io["set_up_s"] = set_up_s_;
    targets_.observe(io);
    if (steady_) observe_steady(*steady_, io);
    std::vector<std::string> verified;
    for (const auto& job : jobs_) {
      job->observe(io);
      if (std::string text = job->verify(); !text.empty()) verified.push_back(std::move(text));
    }
    if (!verified.empty()) evidence["verified"] = fmt::format("{}", fmt::join(verified, "; "));
    runner_.reset();
    if (watch_) watch_->report(evidence, spec_.work.require, spec_.work.direct);
  }

 private:
  void list_threads() {
    threads_.clear();
    for (const auto& job : jobs_) {
      for (IoThread& thread : job->threads()) threads_.push_back(&thread);
    }
    threads_of_.clear();
    auto next = threads_.begin();
    for (const auto& job : jobs_) {
      threads_of_.emplace_back(next, job->threads().size());
      next += static_cast<std::ptrdiff_t>(job->threads().size());
    }
  }

  bool by_time() const { return spec_.work.amount == 0 || spec_.own_ends; }

  IoCompany company_of(const IoJobSpec& job) {
    IoCompany company;
    company.all_ended = &ends_[kAll];
    if (job.group >= 0) company.group_ended = &ends_[job.group];
    if (!job.ends.empty())
      company.ends = job.ends == "all" ? company.all_ended : company.group_ended;
    if (job.flow >= 0) {
      company.flow = &flows_[job.flow];
      company.weight = job.flow_weight;
      company.flow_sleep_s = job.flow_sleep_s;
    }
    return company;
  }

  void start() {
    const double begin = now_seconds();
    if (watch_) watch_->restart();
    for (auto& [number, ended] : ends_) ended = false;
    for (auto& [number, flow] : flows_) flow.operations = flow.weights = 0;
    steady_.reset();
    if (spec_.steady) steady_.emplace(*spec_.steady, spec_.sampling.sample_s);
    drives_->restart();  // Before the first operation: an array and its members are read in turn.
    runner_->start();
    set_up_s_ += now_seconds() - begin;
    if (spec_.work.ramp_s > 0) {
      sleep_for(spec_.work.ramp_s);
      runner_->end_sample();
      drives_->restart();
    }
    targets_.restart();
    window_began_s_ = now_seconds();
    cpu_s_ = process_cpu_seconds();
  }

  void watch_gpus() {
    std::vector<int> gpus;
    for (const IoJobSpec& job : spec_.jobs) {
      const int gpu = job.buffers.gpu;
      if (gpu >= 0 && std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
    }
    watch_.reset();
    if (!gpus.empty()) watch_ = watch_gpu_io(gpus, spec_.work.backend->name, cpus_.front().front());
  }

  // A sample of so many seconds, cut out of operations that go on without a pause.
  Sample window() {
    if (!spec_.own_ends) {
      sleep_for(spec_.sampling.sample_s);
      return sample_of(runner_->end_sample(), 0);
    }
    all_ended_ = runner_->wait_for_end(spec_.sampling.sample_s);
    const std::uint64_t number = runner_->end_sample();
    Sample sample = sample_of(number, 0);
    if (steady_ && !all_ended_ && !steady_->attained() &&
        steady_->add(figure_of(steady_->rule(), number))) {
      runner_->ask_to_stop();
    }
    return sample;
  }

  double figure_of(const SteadyRule& rule, std::uint64_t number) const {
    double operations = 0;
    double bytes = 0;
    double waited = 0;
    for (IoThread* const thread : threads_) {
      const Tally& tally = thread->tally(number);
      operations += static_cast<double>(tally.reads + tally.writes);
      bytes += static_cast<double>(tally.bytes_read + tally.bytes_written);
      waited += tally.of_reads.latency.sum() + tally.of_writes.latency.sum();
    }
    switch (rule.figure) {
      case SteadyRule::Figure::kIops:
        return operations / spec_.sampling.sample_s;
      case SteadyRule::Figure::kBandwidth:
        return bytes / spec_.sampling.sample_s;
      case SteadyRule::Figure::kLatency:
        return operations > 0 ? waited / operations : 0;
    }
    return 0;
  }

  static void observe_steady(const SteadyState& steady, nlohmann::ordered_json& io) {
    io["steady"] = {{"attained", steady.attained()},   {"criterion", steady.criterion()},
                    {"mean", steady.mean()},           {"slope", steady.slope()},
                    {"deviation", steady.deviation()}, {"figures", steady.figures()}};
  }

  // A sample in which each thread moves its amount.
  Sample pass() {
    start();
    const std::uint64_t sample = runner_->finish(spec_.work.time_limit_s);
    targets_.note_finishers(sample, threads_of_);
    return sample_of(sample, targets_.last_finisher_s());
  }

  // Rates are each thread's operations over the thread's own time, which ends between two of its
  // operations; of a pass, all operations over the time until the last thread ended (`pass_s`).
  Sample sample_of(std::uint64_t number, double pass_s) {
    Sample sample{};
    std::vector<ThreadSample> threads;
    double seconds = 0;
    double longest = 0;
    for (std::size_t job = 0; job < threads_of_.size(); ++job) {
      for (IoThread* const thread : threads_of_[job]) {
        const Tally& tally = thread->tally(number);
        const double own = static_cast<double>(tally.end_ns - tally.start_ns) * 1e-9;
        seconds += own;
        longest = std::max(longest, own);
        threads.push_back({.job = job, .tally = &tally, .seconds = pass_s > 0 ? pass_s : own});
        if (threads.back().seconds <= 0) continue;  // It had ended before.
        sample.lost_share = std::max(sample.lost_share, tally.lost_s / threads.back().seconds);
      }
    }
    targets_.count(number, threads_of_);
    sample.start_s = static_cast<double>(start_ns(number, threads_of_)) * 1e-9;
    sample.duration_s = pass_s > 0 ? pass_s : seconds / static_cast<double>(threads.size());
    if (spec_.own_ends) {
      const double began_s = std::exchange(window_began_s_, now_seconds());
      sample.duration_s = longest > 0 ? longest : window_began_s_ - began_s;
      if (longest <= 0) sample.start_s = began_s;  // Nobody worked.
    }
    const double cpu = process_cpu_seconds();
    samples_.fill(sample, threads, cpu - std::exchange(cpu_s_, cpu));
    return sample;
  }

  IoSpec spec_;
  IoSamples samples_;
  IoTargets targets_;
  CpuSets cpus_;  // Of each thread.
  static constexpr int kAll = -1;
  std::map<int, std::atomic<bool>> ends_;  // By groups of jobs, and of all.
  std::map<int, IoFlow> flows_;
  std::optional<SteadyState> steady_;
  bool all_ended_ = false;
  std::vector<std::unique_ptr<IoJob>> jobs_;
  std::vector<IoThread*> threads_;                      // Of all jobs, one job after the other.
  std::vector<std::span<IoThread* const>> threads_of_;  // Those of each job.
  std::unique_ptr<IoRunner> runner_;
  Team* team_ = nullptr;
  std::unique_ptr<DriveWatch> drives_;
  std::unique_ptr<GpuIoWatch> watch_;  // Where GPUs take part.
  double cpu_s_ = 0;
  double window_began_s_ = 0;
  double set_up_s_ = 0;
};

}  // namespace

MakeState parse_io(const ObjectReader& measurement) {
  IoSpec spec = read_io_spec(measurement);
  return [spec = std::move(spec)] { return std::make_unique<Io>(spec); };
}

}  // namespace tierscope
