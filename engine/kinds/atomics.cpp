// Atomic updates a second: each thread on lines of its own, or all on the same ones.
#include "access/atomics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "benches/evidence.h"
#include "benches/kinds.h"
#include "benches/memory_spec.h"
#include "benches/window.h"
#include "benches/workspace.h"
#include "errors.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

struct AtomicsSpec {
  std::vector<int> cpus;
  Placement placement;
  SamplingRule sampling;
  Atomic operation;
  bool shared;  // All threads go over all lines.
  std::size_t size;
  Pages pages;
};

struct Share {
  std::byte* base;
  std::uint64_t lines;
  std::uint64_t state;
  std::uint64_t tries = 0;
};

std::deque<Share> divide(const AtomicsSpec& spec, std::byte* base) {
  const std::uint64_t lines = spec.size / kCounterStride;
  const std::uint64_t threads = spec.cpus.size();
  std::deque<Share> shares;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    const std::uint64_t first = spec.shared ? 0 : lines * thread / threads;
    const std::uint64_t end = spec.shared ? lines : lines * (thread + 1) / threads;
    shares.push_back({.base = base + first * kCounterStride,
                      .lines = end - first,
                      .state = thread * 0x9e3779b97f4a7c15ULL});
  }
  return shares;
}

// The counters have to hold as many updates as were made; throws Failure otherwise.
std::string verify(const AtomicsSpec& spec, const std::byte* base, std::uint64_t updates) {
  std::uint64_t held = 0;
  for (std::size_t offset = 0; offset < spec.size; offset += kCounterStride) {
    held += *reinterpret_cast<const std::uint64_t*>(base + offset);
  }
  if (held != updates) {
    throw Failure(fmt::format("the counters hold {} updates where {} were made", held, updates));
  }
  return fmt::format("the counters' sum is the {} updates made", updates);
}

Outcome measure(const AtomicsSpec& spec, Workspace& workspace, const Progress& progress) {
  Team& team = workspace.team(spec.cpus);
  const std::array<RegionKind, 1> kind{{{spec.size, spec.pages, spec.placement}}};
  const Lent lent = workspace.lend(kind, team).front();
  lent.contents->reset();
  Region& region = *lent.region;
  std::fill_n(region.data(), spec.size, std::byte{0});
  std::deque<Share> shares = divide(spec, region.data());
  const auto update = spec.operation == Atomic::kFetchAndAdd
                          ? update_counters<Atomic::kFetchAndAdd>
                          : update_counters<Atomic::kCompareAndSwap>;
  std::vector<Worker> workers;
  for (Share& share : shares) {
    workers.push_back({.work = [update, &share](std::uint64_t count) {
      share.tries += update(share.base, share.lines, share.state, count);
    }});
  }
  const double window_s = std::max(spec.sampling.sample_s, shortest_sample());
  size_chunks(team, workers, window_s);

  DisturbanceWatch watch(spec.cpus);
  const auto sample = [&] {
    work_for(team, workers, window_s);
    watch.note(most_lost(workers));
    double updates = 0;
    for (const Worker& worker : workers) updates += worker.units_in_window;
    return updates / window_s;
  };
  Outcome outcome{
      .metric = "updates",
      .unit = "1/s",
      .sampled = take_samples(spec.sampling, sample, real_surroundings(progress, &watch)),
      .figures = {},
      .evidence = {}};
  if (outcome.sampled.samples.empty()) return outcome;
  const Estimate& estimate = outcome.sampled.estimate;
  const double thread_ns = 1e9 * static_cast<double>(spec.cpus.size());
  outcome.figures.push_back({.metric = "time_per_update",
                             .unit = "ns",
                             .estimate = thread_ns / estimate.median,
                             .low = thread_ns / estimate.high,
                             .high = thread_ns / estimate.low});
  std::vector<int> cpus;
  std::uint64_t updates = 0;
  std::uint64_t tries = 0;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    cpus.push_back(workers[i].last_cpu);
    updates += workers[i].done;
    tries += shares[i].tries;
  }
  const double tries_each = static_cast<double>(tries) / static_cast<double>(updates);
  outcome.figures.push_back({.metric = "tries_per_update",
                             .unit = "ratio",
                             .estimate = tries_each,
                             .low = tries_each,
                             .high = tries_each});
  outcome.evidence = region_evidence({&region});
  outcome.evidence["cpus"] = cpus;
  outcome.evidence["verified"] = verify(spec, region.data(), updates);
  outcome.evidence["sample_ns"] = window_s * 1e9;
  add_sampling_evidence(outcome.evidence, outcome.sampled, watch);
  return outcome;
}

}  // namespace

Job parse_atomics(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, Atomic>, 2> kOperations{
      {{"fetch-and-add", Atomic::kFetchAndAdd}, {"compare-and-swap", Atomic::kCompareAndSwap}}};
  constexpr std::size_t kMostThreads = 4096;
  AtomicsSpec spec{};
  spec.cpus = measurement.distinct_integers("cpus", 0, kHighestCpu, kMostThreads);
  spec.placement = read_placement(measurement);
  spec.sampling = read_sampling(measurement);
  ObjectReader pattern = measurement.object("pattern");
  spec.operation = pattern.choice("operation", kOperations);
  spec.shared = pattern.has("shared") && pattern.truth("shared");
  spec.size = pattern.bytes("size");
  spec.pages = pattern.has("pages") ? pattern.choice("pages", kPagesNames) : Pages::kThp;
  pattern.finish();
  if (!spec.shared && spec.size / kCounterStride < spec.cpus.size()) {
    throw pattern.error("size", "has fewer lines than there are threads");
  }
  return [spec](Workspace& workspace, const Progress& progress) {
    return measure(spec, workspace, progress);
  };
}

}  // namespace tierscope
