// Idle latency: one CPU's dependent loads through a cycle over placed memory.
#include <sched.h>

#include <array>

#include "benches/chaser.h"
#include "benches/evidence.h"
#include "benches/kinds.h"
#include "benches/memory_spec.h"
#include "interrupt.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

struct LatencySpec {
  int cpu;
  Placement placement;
  SamplingRule sampling;
  ChasePattern pattern;
};

// Where the chase stands and how long one sample of it is.
struct Chase {
  void** at;
  std::uint64_t loads_per_sample = kChaseUnroll;
  std::uint64_t loads = 0;  // Followed so far.

  // Follows one sample's links; returns seconds.
  double follow() {
    const double start = now_seconds();
    at = follow_chase(at, loads_per_sample);
    const double seconds = now_seconds() - start;
    loads += loads_per_sample;
    return seconds;
  }
};

Outcome measure(const LatencySpec& spec, Workspace& workspace, const Progress& progress) {
  const std::array<int, 1> cpu{spec.cpu};
  Team& team = workspace.team(cpu);
  const std::array<RegionKind, 1> kind{{{spec.pattern.size, spec.pattern.pages, spec.placement}}};
  const Lent lent = workspace.lend(kind, team).front();
  Chase chase{};
  const double wanted = std::max(spec.sampling.sample_s, shortest_sample());
  team.run([&](int) {
    chase.at = linked_chase(spec.pattern, lent);
    while (chase.follow() < wanted && !interrupted()) chase.loads_per_sample *= 2;
  });

  DisturbanceWatch watch({spec.cpu});
  int last_cpu = -1;
  std::vector<double> seconds;
  const auto sample = [&] {
    double lost_share = 0;
    team.run([&](int) {
      const LostTime lost;
      seconds.push_back(chase.follow());
      lost_share = lost.share();
      last_cpu = sched_getcpu();
    });
    watch.note(lost_share);
    const auto loads = static_cast<double>(chase.loads_per_sample);
    // Where a stall, not the loads, made a sample look long enough above.
    if (seconds.back() < wanted / 2) chase.loads_per_sample *= 2;
    return seconds.back() * 1e9 / loads;
  };
  Outcome outcome{
      .metric = "latency",
      .unit = "ns",
      .sampled = take_samples(spec.sampling, sample, real_surroundings(progress, &watch)),
      .figures = {},
      .evidence = {}};
  if (outcome.sampled.samples.empty()) return outcome;
  outcome.evidence = region_evidence({lent.region});
  outcome.evidence["cpus"] = {last_cpu};
  outcome.evidence["walked_bytes"] = chased_bytes(spec.pattern, chase.loads);
  outcome.evidence["sample_ns"] = estimate_median(seconds).median * 1e9;
  add_sampling_evidence(outcome.evidence, outcome.sampled, watch);
  return outcome;
}

}  // namespace

Job parse_latency(ObjectReader& measurement) {
  LatencySpec spec{};
  spec.cpu = static_cast<int>(measurement.integer("cpu", 0, kHighestCpu));
  spec.placement = read_placement(measurement);
  spec.sampling = read_sampling(measurement);
  spec.pattern = read_chase_pattern(measurement);
  return [spec](Workspace& workspace, const Progress& progress) {
    return measure(spec, workspace, progress);
  };
}

}  // namespace tierscope
