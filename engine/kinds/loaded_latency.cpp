// Loaded latency: a chase on its own CPU while other CPUs stream at a held-back rate. One
// measurement is one point of a curve; which points a curve needs is for the caller to decide.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "access/timed_chase.h"
#include "benches/chaser.h"
#include "benches/evidence.h"
#include "benches/kinds.h"
#include "benches/memory_spec.h"
#include "benches/stream.h"
#include "interrupt.h"
#include "sampling/clock.h"
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

constexpr std::array<std::pair<const char*, double>, 4> kPercentiles{
    {{"latency_p50", 0.5}, {"latency_p90", 0.9}, {"latency_p99", 0.99}, {"latency_p99.9", 0.999}}};
constexpr int kTimedWindows = 20;
constexpr double kSteady = 0.03;

// The medians of a series' halves differ by at most 3%.
bool steady(const std::vector<double>& samples) {
  if (samples.size() < 2) return false;
  const std::span<const double> all(samples);
  const double first = estimate_median(all.first(samples.size() / 2)).median;
  const double second = estimate_median(all.subspan(samples.size() / 2)).median;
  return std::abs(first - second) <= kSteady * std::max(std::abs(first), std::abs(second));
}

double units_per_window(std::span<const Worker> workers) {
  double units = 0;
  for (const Worker& worker : workers) units += worker.units_in_window;
  return units;
}

// The chase and its load on their team; workers[0] chases.
struct Set {
  Team& team;
  Lent chase;
  std::optional<Stream> stream;  // Empty where the load stands still.
  void** at = nullptr;
  std::vector<Worker> workers{};

  std::span<const Worker> load() const { return std::span(workers).subspan(1); }
  double load_rate(double window_s) const {
    return stream ? units_per_window(load()) * stream->bytes_per_unit() / window_s : 0;
  }
};

// Distribution of single loads' latencies under the same load, in windows of their own, since
// timing each load would slow the chase whose mean is measured.
std::vector<Figure> percentiles(Set& set, double window_s) {
  Histogram histogram;
  std::vector<Worker> workers = set.workers;
  workers.front().work = [&](std::uint64_t runs) {
    set.at = follow_chase_timed(set.at, runs * kChaseUnroll, histogram);
  };
  std::array<std::vector<double>, kPercentiles.size()> found;
  std::vector<double> rates;
  for (int window = 0; window < kTimedWindows && !interrupted(); ++window) {
    histogram.clear();
    work_for(set.team, workers, window_s);
    for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
      found[i].push_back(histogram.quantile(kPercentiles[i].second) * timer_tick_ns());
    }
    rates.push_back(units_per_window(std::span(workers).subspan(1)));
  }
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < kPercentiles.size() && !found[i].empty(); ++i) {
    const Estimate estimate = estimate_median(found[i]);
    figures.push_back({.metric = kPercentiles[i].first,
                       .unit = "ns",
                       .estimate = estimate.median,
                       .low = estimate.low,
                       .high = estimate.high});
  }
  for (std::size_t i = 0; i < workers.size(); ++i) set.workers[i].done = workers[i].done;
  return figures;
}

Set set_up(const LoadedLatencySpec& spec, Workspace& workspace) {
  std::vector<int> cpus{spec.cpu};
  cpus.insert(cpus.end(), spec.load.cpus.begin(), spec.load.cpus.end());
  const std::array<RegionKind, 2> kinds{
      {{spec.pattern.size, spec.pattern.pages, spec.placement}, spec.load.region()}};
  std::vector<Lent> lent = workspace.lend(kinds, workspace.team(cpus));
  // A load that stands still has no threads at all: those of others would wake up for the gate.
  Team& team = spec.idle ? workspace.team(std::array{spec.cpu}) : workspace.team(cpus);
  Set set{.team = team, .chase = lent[0], .stream = std::nullopt};
  if (!spec.idle) set.stream.emplace(spec.load, *lent[1].region, team, 1);
  set.team.run([&](int thread) {
    if (thread == 0) set.at = linked_chase(spec.pattern, set.chase);
  });
  return set;
}

void add_figures(Outcome& outcome, const Set& set, const std::vector<double>& rates) {
  if (!set.stream) return;
  const Estimate estimate = estimate_median(rates);
  for (const auto& [metric, factor] :
       {std::pair("bandwidth", 1.0),
        std::pair("bandwidth_with_write_allocate", set.stream->bus_bytes_per_byte())}) {
    if (factor != 1 && !set.stream->passes_caches()) continue;
    outcome.figures.push_back({.metric = metric,
                               .unit = "B/s",
                               .estimate = estimate.median * factor,
                               .low = estimate.low * factor,
                               .high = estimate.high * factor});
  }
}

nlohmann::ordered_json evidence_of(const LoadedLatencySpec& spec, const Set& set,
                                   const Sampled& sampled, const std::vector<double>& rates,
                                   double window_s, const DisturbanceWatch& watch) {
  nlohmann::ordered_json evidence = region_evidence({set.chase.region});
  const Worker& chaser = set.workers.front();
  std::vector<int> cpus;
  for (const Worker& worker : set.workers) cpus.push_back(worker.last_cpu);
  evidence["cpus"] = cpus;
  evidence["walked_bytes"] = chased_bytes(spec.pattern, chaser.done * kChaseUnroll);
  evidence["sample_ns"] = window_s * 1e9;
  evidence["timer_ns"] = timer_cost_ticks() * timer_tick_ns();
  evidence["settled"] =
      sampled.settled && steady(sampled.samples) && (!set.stream || steady(rates));
  if (set.stream) evidence["workloads"] = {{"load", set.stream->evidence(set.load())}};
  add_sampling_evidence(evidence, sampled, watch);
  for (const int sibling : core_siblings(spec.cpu)) {
    if (set.stream && std::ranges::find(spec.load.cpus, sibling) != spec.load.cpus.end()) {
      evidence["notes"].push_back(fmt::format(
          "load thread on CPU {}, the other hardware thread of the chase's core", sibling));
    }
  }
  return evidence;
}

Outcome measure(const LoadedLatencySpec& spec, Workspace& workspace, const Progress& progress) {
  Set set = set_up(spec, workspace);
  set.workers.push_back(
      {.work = [&](std::uint64_t runs) { set.at = follow_chase(set.at, runs * kChaseUnroll); }});
  if (set.stream) {
    for (Worker& worker : set.stream->workers()) set.workers.push_back(std::move(worker));
  }
  const double window_s = std::max(spec.sampling.sample_s, shortest_sample());
  size_chunks(set.team, set.workers, window_s);

  DisturbanceWatch watch(set.team.cpus());
  std::vector<double> rates;
  const auto sample = [&] {
    work_for(set.team, set.workers, window_s);
    watch.note(most_lost(set.workers));
    rates.push_back(set.load_rate(window_s));
    return window_s * 1e9 / (set.workers.front().units_in_window * kChaseUnroll);
  };
  Outcome outcome{
      .metric = "latency",
      .unit = "ns",
      .sampled = take_samples(spec.sampling, sample, real_surroundings(progress, &watch)),
      .figures = {},
      .evidence = {}};
  if (outcome.sampled.samples.empty()) return outcome;
  rates.erase(rates.begin(), rates.begin() + outcome.sampled.warm_up);
  add_figures(outcome, set, rates);
  for (Figure& figure : percentiles(set, window_s)) outcome.figures.push_back(std::move(figure));
  outcome.evidence = evidence_of(spec, set, outcome.sampled, rates, window_s, watch);
  return outcome;
}

}  // namespace

Job parse_loaded_latency(ObjectReader& measurement) {
  LoadedLatencySpec spec{};
  spec.cpu = static_cast<int>(measurement.integer("cpu", 0, kHighestCpu));
  spec.placement = read_placement(measurement);
  spec.sampling = read_sampling(measurement);
  spec.pattern = read_chase_pattern(measurement);
  ObjectReader load = measurement.object("load");
  load.text("initiator");  // Endpoints as asked for, as those of the measurement are.
  load.text("target");
  spec.idle = load.has("idle") && load.truth("idle");
  spec.load = read_stream(load);
  load.finish();
  if (std::ranges::find(spec.load.cpus, spec.cpu) != spec.load.cpus.end()) {
    throw load.error("cpus", fmt::format("names {}, the chase's own CPU", spec.cpu));
  }
  return [spec](Workspace& workspace, const Progress& progress) {
    return measure(spec, workspace, progress);
  };
}

}  // namespace tierscope
