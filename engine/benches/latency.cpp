// Idle latency: one CPU's dependent loads through a cycle over placed memory.
#include <fmt/format.h>
#include <sched.h>

#include <array>

#include "access/chase.h"
#include "benches/evidence.h"
#include "benches/kinds.h"
#include "benches/memory_spec.h"
#include "benches/workspace.h"
#include "interrupt.h"
#include "protocol/object_reader.h"
#include "sampling/clock.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

struct LatencySpec {
  int cpu;
  Placement placement;
  SamplingRule sampling;
  ChaseOrder order;
  std::size_t stride;
  std::size_t size;
  Pages pages;
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
  Region& region = *workspace.regions(1, spec.size, spec.pages, spec.placement, team).front();
  Chase chase{};
  team.run([&](int) {
    chase.at = link_chase({region.data(), spec.size}, spec.stride, spec.order);
    const double wanted = std::max(spec.sampling.sample_s, shortest_sample());
    while (chase.follow() < wanted && !interrupted()) chase.loads_per_sample *= 2;
  });

  int disturbed = 0;
  int last_cpu = -1;
  std::vector<double> seconds;
  const auto sample = [&] {
    team.run([&](int) {
      const long switches = involuntary_switches();
      seconds.push_back(chase.follow());
      disturbed += involuntary_switches() > switches ? 1 : 0;
      last_cpu = sched_getcpu();
    });
    return seconds.back() * 1e9 / static_cast<double>(chase.loads_per_sample);
  };
  const double stolen_before = stolen_seconds(cpu);
  const double start = now_seconds();
  Outcome outcome{.metric = "latency",
                  .unit = "ns",
                  .sampled = take_samples(spec.sampling, sample, real_surroundings(progress)),
                  .figures = {},
                  .evidence = {}};
  if (outcome.sampled.samples.empty()) return outcome;
  const double steal_share = (stolen_seconds(cpu) - stolen_before) / (now_seconds() - start);

  const std::uint64_t cycle = chase_length(spec.size, spec.stride);
  constexpr std::uint64_t kLine = 64;
  outcome.evidence = region_evidence({&region});
  outcome.evidence["cpus"] = {last_cpu};
  outcome.evidence["walked_bytes"] = std::min(chase.loads, cycle) * kLine;
  outcome.evidence["sample_ns"] = estimate_median(seconds).median * 1e9;
  add_sampling_evidence(outcome.evidence, outcome.sampled, disturbed, steal_share);
  return outcome;
}

LatencySpec read_spec(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, ChaseOrder>, 2> kOrders{
      {{"random", ChaseOrder::kRandom}, {"page-random", ChaseOrder::kPageRandom}}};
  constexpr std::size_t kDefaultStride = 256;

  LatencySpec spec{};
  spec.cpu = static_cast<int>(measurement.integer("cpu", 0, kHighestCpu));
  spec.placement = read_placement(measurement);
  spec.sampling = read_sampling(measurement);
  ObjectReader pattern = measurement.object("pattern");
  spec.order = pattern.has("order") ? pattern.choice("order", kOrders) : ChaseOrder::kRandom;
  spec.stride = pattern.has("stride") ? pattern.bytes("stride") : kDefaultStride;
  spec.size = pattern.bytes("size");
  spec.pages = pattern.has("pages") ? pattern.choice("pages", kPagesNames) : Pages::kThp;
  pattern.finish();
  if (spec.size < 2 * spec.stride) {
    throw pattern.error("size", "has to hold at least two strides");
  }
  return spec;
}

}  // namespace

Job parse_latency(ObjectReader& measurement) {
  return [spec = read_spec(measurement)](Workspace& workspace, const Progress& progress) {
    return measure(spec, workspace, progress);
  };
}

}  // namespace tierscope
