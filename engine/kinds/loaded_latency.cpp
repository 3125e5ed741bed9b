// Loaded latency: a chase on its own CPU while other CPUs stream at a limited rate. One measurement
// is one point of a curve; which points a curve needs is for the caller to decide.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "access/timed_chase.h"
#include "harness/kind.h"
#include "kinds/chase_pattern.h"
#include "kinds/evidence.h"
#include "kinds/stream.h"
#include "kinds/window_sample.h"
#include "protocol/constants.h"
#include "protocol/plan_parts.h"
#include "threads/affinity.h"

namespace tierscope {
namespace {

struct LoadedLatencySpec {
  int cpu;
  Placement placement;
  SamplingRule sampling;
  ChasePattern pattern;
  StreamSpec load;
  bool idle;  // The load stands still: a control between loaded points.
};

constexpr int kTimedSamples = 20;

// workers_[0] chases, the others are the load's.
class LoadedLatency : public State {
 public:
  explicit LoadedLatency(const LoadedLatencySpec& spec)
      : spec_(spec), stream_(spec.load), threads_{{spec.cpu}} {
    workers_.push_back({.work = [this](std::uint64_t runs) {
      walk(follow_chase(walk_.at.front(), runs * kChaseUnroll), runs);
    }});
    if (spec_.idle) return;
    threads_.insert(threads_.end(), spec_.load.threads.begin(), spec_.load.threads.end());
    threads_per_cpu_ = threads_per_cpu(threads_);
    for (Worker& worker : stream_.workers()) workers_.push_back(std::move(worker));
    load_ = {{.stream = &stream_, .first = 1, .threads = spec_.load.threads.size()}};
  }

  void open(Leases& leases) override {
    // A control between loaded points has the points' regions, but no threads of the load at all:
    // they would wake up for the gate.
    CpuSets populating{{spec_.cpu}};
    populating.insert(populating.end(), spec_.load.threads.begin(), spec_.load.threads.end());
    const std::array keys{spec_.pattern.key(spec_.placement), spec_.load.key()};
    std::vector<Lease> regions =
        leases.regions(keys, leases.team(populating), [this](std::size_t i, const std::any& found) {
          return i == 0 ? is_linked(spec_.pattern, found) : Stream::fits(found);
        });
    team_ = &leases.team(threads_);
    chased_ = regions[0].region;
    spec_.pattern.size = chased_->size();
    if (spec_.idle) {
      *regions[1].contents = regions[1].found;
    } else {
      stream_.open(regions[1], *team_, 1, std::span(workers_).subspan(1));
    }
    team_->run([&](int thread) {
      if (thread == 0) link_walk(spec_.pattern, regions[0], walk_);
    });
    if (!sized_) size_chunks(*team_, workers_, window_s());
    sized_ = true;
  }

  std::vector<Series> series() override {
    const bool write_allocate = !spec_.idle && stream_.has_write_allocate();
    std::vector<Column> columns{{.metric = "latency", .part = ""}};
    if (!spec_.idle) columns.push_back({.metric = "bandwidth", .part = ""});
    if (write_allocate) columns.push_back({.metric = "bandwidth_with_write_allocate", .part = ""});
    return {{.name = "windows",
             .columns = std::move(columns),
             .take = [this, write_allocate] { return take(write_allocate); },
             .watched_cpus = all_cpus(threads_)},
            {.name = "timed",
             .columns = {{.metric = "latency", .part = "timed"}},
             .take = [this] { return take_timed(); },
             .samples = kTimedSamples,
             .watched_cpus = all_cpus(threads_),
             .distributions = {{.metric = "latency", .part = ""}}}};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    verify_streams(*team_, load_, workers_);
    evidence = region_evidence({chased_});
    add_cpus(workers_, threads_, evidence);
    evidence["walked_bytes"] = chased_bytes(spec_.pattern, walk_.loads);
    evidence["timer_ns"] = timer_cost_ticks() * timer_tick_ns();
    for (const StreamPart& load : load_) {
      evidence["workloads"] = {{"load", stream_.evidence(load.of(workers_))}};
      for (const int sibling : core_siblings(spec_.cpu)) {
        if (std::ranges::find(spec_.load.cpus, sibling) == spec_.load.cpus.end()) continue;
        evidence["notes"].push_back(fmt::format(
            "load thread on CPU {}, the other hardware thread of the chase's core", sibling));
      }
    }
  }

 private:
  double window_s() const { return window_seconds(spec_.sampling, threads_per_cpu_); }

  // The chase is at `at` after so many runs of loads.
  void walk(void** at, std::uint64_t runs) {
    walk_.at.front() = at;
    walk_.loads += runs * kChaseUnroll;
  }

  Sample take(bool write_allocate) {
    Sample sample = chased();
    for (const StreamPart& load : load_) {
      const double units = units_in_window(load.of(workers_));
      sample.values.push_back(units * stream_.bytes_per_unit() / window_s());
      if (write_allocate)
        sample.values.push_back(sample.values.back() * stream_.bus_bytes_per_byte());
    }
    return sample;
  }

  // A sample with the chase's latency.
  Sample chased() {
    Sample sample = window_sample(*team_, workers_, window_s());
    sample.values.push_back(window_s() * 1e9 / (workers_.front().units_in_window * kChaseUnroll));
    return sample;
  }

  // Distribution of single loads' latencies under the same load, in samples of their own, since
  // timing each load would slow the chase whose mean is measured.
  Sample take_timed() {
    Histogram& histogram = *histogram_;
    histogram.clear();
    const auto untimed = std::exchange(workers_.front().work, [&](std::uint64_t runs) {
      walk(follow_chase_timed(walk_.at.front(), runs * kChaseUnroll, histogram), runs);
    });
    Sample sample = chased();
    workers_.front().work = untimed;
    sample.histograms = {histogram.counts()};
    return sample;
  }

  LoadedLatencySpec spec_;
  Stream stream_;  // Unused where the load stands still.
  CpuSets threads_;
  std::size_t threads_per_cpu_ = 1;
  std::vector<Worker> workers_;
  std::vector<StreamPart> load_;  // None where the load stands still.
  std::unique_ptr<Histogram> histogram_ = std::make_unique<Histogram>();
  Team* team_ = nullptr;
  const Region* chased_ = nullptr;
  ChaseWalk walk_;
  bool sized_ = false;
};

}  // namespace

MakeState parse_loaded_latency(const ObjectReader& measurement) {
  LoadedLatencySpec spec{};
  spec.cpu = measurement.integer<int>("cpu");
  spec.placement = read_placement(measurement, "placement");
  spec.sampling = read_sampling(measurement);
  spec.pattern = read_chase_pattern(measurement.object("pattern"));
  const ObjectReader load = measurement.object("load");
  spec.idle = load.boolean("idle");
  spec.load = read_stream(load);
  measurement.check(tables::kLoadedLatencySpecLoadCpus,
                    std::ranges::find(spec.load.cpus, spec.cpu) == spec.load.cpus.end());
  return [spec] { return std::make_unique<LoadedLatency>(spec); };
}

}  // namespace tierscope
