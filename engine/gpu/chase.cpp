// Latency of dependent loads by one thread of a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>

#include "benches/evidence.h"
#include "benches/workspace.h"
#include "errors.h"
#include "gpu/buffer.h"
#include "gpu/chase_kernels.h"
#include "gpu/check.h"
#include "gpu/copy_kernels.h"
#include "gpu/gate.h"
#include "gpu/measure.h"
#include "gpu/monitor.h"
#include "gpu/range.h"
#include "gpu/trace.h"
#include "interrupt.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

constexpr std::uint32_t kMostLoads = 1U << 26;
// Of each multiprocessor where each is shown; the most that an event's step can spoil is 2%.
constexpr std::uint32_t kLoadsShown = 2048;
// Of each multiprocessor in a sample of all of them: about a quarter of a millisecond over a link.
constexpr std::uint32_t kLoadsOfRound = 256;
// A working set that an L1 may hold, and how many times more loads go over it: they are short.
constexpr std::size_t kMayFitL1 = std::size_t{256} << 10;
constexpr std::uint32_t kTimesMoreInL1 = 8;

// A single cycle through all slots in random order (Sattolo 1986): next[i] follows i.
std::vector<std::uint32_t> make_cycle(std::uint32_t slots) {
  std::vector<std::uint32_t> order(slots);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937_64 random(1);  // The same cycle each time, so that runs compare.
  for (std::uint32_t i = slots - 1; i > 0; --i) {
    const auto other = static_cast<std::uint32_t>((static_cast<unsigned __int128>(random()) * i) >>
                                                  64);  // 0..i-1, never i itself
    std::swap(order[i], order[other]);
  }
  return order;
}

std::vector<std::uint32_t> make_line(std::uint32_t slots) {
  std::vector<std::uint32_t> next(slots);
  for (std::uint32_t i = 0; i < slots; ++i) next[i] = (i + 1) % slots;
  return next;
}

// Walks the cycle; throws Failure unless it comes home after visiting every slot, and not before.
void prove_cycle(const std::vector<std::uint32_t>& next) {
  std::uint32_t at = 0;
  std::size_t steps = 0;
  do {
    at = next[at];
    ++steps;
  } while (at != 0 && steps <= next.size());
  if (steps != next.size()) {
    throw Failure(fmt::format("the chase comes home after {} of {} slots", steps, next.size()));
  }
}

struct ChaseRun {
  const GpuLatencySpec& spec;
  Gate& gate;
  std::vector<std::uint32_t> next;
  int multiprocessors;
  GpuBytes results;  // Of each multiprocessor where its chase ended, then whether it ran.
  Stream stream;
  Event start;
  Event end;
  Chase chase{};
  std::uint64_t loads = 0;  // So far.
  std::uint32_t expected = 0;
  std::vector<double> seconds{};
  double overhead_s = 0;  // What a round takes for launches and cold loads.
  int ran = 0;            // Multiprocessors that took part in the last round.

  std::uint32_t* last(int multiprocessor) const {
    return reinterpret_cast<std::uint32_t*>(results.get()) + multiprocessor;
  }
  std::uint32_t* has_run(int multiprocessor) const {
    return last(multiprocessors) + multiprocessor;
  }
};

// As a program on the CPU would, so that lines of host memory may still be in its caches.
void lay_by_cpu(const ChaseRun& run, const Buffer& buffer) {
  for (std::size_t i = 0; i < run.next.size(); ++i) {
    const std::byte* const to = buffer.data() + run.next[i] * run.spec.stride;
    std::memcpy(buffer.data() + i * run.spec.stride, static_cast<const void*>(&to), sizeof to);
  }
}

void lay_by_gpu(const ChaseRun& run, const Buffer& buffer) {
  const std::size_t bytes = run.next.size() * sizeof(std::uint32_t);
  const GpuBytes next = make_gpu_bytes(run.spec.gpu, bytes);
  check_cuda(cudaMemcpy(next.get(), run.next.data(), bytes, cudaMemcpyDefault), "laying the chase");
  lay_chain(buffer.data(), run.spec.stride, reinterpret_cast<const std::uint32_t*>(next.get()),
            static_cast<std::uint32_t>(run.next.size()), run.stream.get());
  check_cuda(cudaStreamSynchronize(run.stream.get()), "laying the chase");
}

ChaseRun set_up(const GpuLatencySpec& spec, const Buffer& buffer, Gate& gate) {
  const auto slots = static_cast<std::uint32_t>(spec.size / spec.stride);
  const int multiprocessors = attribute_of(spec.gpu, cudaDevAttrMultiProcessorCount);
  const auto results = static_cast<std::size_t>(2 * multiprocessors) * sizeof(std::uint32_t);
  ChaseRun run{.spec = spec,
               .gate = gate,
               .next = spec.linear ? make_line(slots) : make_cycle(slots),
               .multiprocessors = multiprocessors,
               .results = make_gpu_bytes(spec.gpu, results),
               .stream = make_stream(spec.gpu),
               .start = make_event(spec.gpu),
               .end = make_event(spec.gpu)};
  prove_cycle(run.next);
  spec.linear&& spec.memory.on_host() ? lay_by_cpu(run, buffer) : lay_by_gpu(run, buffer);
  run.chase = {
      .start = buffer.data(), .stride = spec.stride, .first = 0, .loads = 256, .last = run.last(0)};
  return run;
}

// Follows the same links on the CPU, so that no load can have been skipped.
std::uint32_t follow(const ChaseRun& run, std::uint32_t at, std::uint32_t loads) {
  for (std::uint32_t i = 0; i < loads % run.next.size(); ++i) at = run.next[at];
  return at;
}

template <typename Launch>
double timed(ChaseRun& run, const Launch& launch) {
  check_cuda(cudaEventRecord(run.start.get(), run.stream.get()), "recording an event");
  launch();
  check_cuda(cudaEventRecord(run.end.get(), run.stream.get()), "recording an event");
  check_cuda(cudaStreamSynchronize(run.stream.get()), "waiting for the chase");
  run.seconds.push_back(seconds_between(run.start, run.end));
  return run.seconds.back() * 1e9 / run.chase.loads;
}

std::uint32_t read_back(const std::uint32_t* from) {
  std::uint32_t value = 0;
  check_cuda(cudaMemcpy(&value, from, sizeof value, cudaMemcpyDefault), "reading the chase's end");
  return value;
}

void require_end(std::uint32_t last, std::uint32_t expected) {
  if (last != expected) {
    throw Failure(fmt::format("the chase ended at slot {}, not at {}", last, expected));
  }
}

double sample(ChaseRun& run) {
  const double ns = timed(run, [&] {
    run.spec.bulk ? launch_bulk_chase(run.chase, run.stream.get())
                  : launch_chase(run.chase, run.stream.get());
  });
  const std::uint32_t last = read_back(run.last(0));
  require_end(last, follow(run, run.chase.first, run.chase.loads));
  run.chase.first = last;  // Go on from there: the whole cycle is walked before any slot again.
  run.loads += run.chase.loads;
  return ns;
}

// Chases of `loads` on one multiprocessor after the other, each from where the one before ended;
// returns the seconds of all of them.
double round(ChaseRun& run, std::uint32_t loads) {
  run.gate.close();
  try {
    run.gate.hold(run.stream.get());
    const auto flags = static_cast<std::size_t>(run.multiprocessors) * sizeof(std::uint32_t);
    check_cuda(cudaMemsetAsync(run.has_run(0), 0, flags, run.stream.get()), "clearing flags");
    check_cuda(cudaEventRecord(run.start.get(), run.stream.get()), "recording an event");
    Chase chase = run.chase;
    chase.loads = loads;
    for (int i = 0; i < run.multiprocessors; ++i) {
      chase.last = run.last(i);
      launch_chase_on(chase, i, run.multiprocessors, run.has_run(i), run.stream.get());
      chase.first = follow(run, chase.first, loads);
    }
    check_cuda(cudaEventRecord(run.end.get(), run.stream.get()), "recording an event");
  } catch (...) {
    run.gate.open();
    throw;
  }
  run.gate.open();
  check_cuda(cudaStreamSynchronize(run.stream.get()), "waiting for the chase");
  return seconds_between(run.start, run.end);
}

// The loads with which a launch fills a multiprocessor's L1, where that may hold the working set:
// each launch finds it empty.
std::uint32_t cold_loads(const ChaseRun& run) {
  const std::size_t slots = run.next.size();
  return slots * run.spec.stride <= kMayFitL1 ? static_cast<std::uint32_t>(slots) : 0;
}

std::uint32_t times_more(const ChaseRun& run) { return cold_loads(run) > 0 ? kTimesMoreInL1 : 1; }

// ns a load, the mean over all multiprocessors; what launches and cold loads take is taken off.
double sample_everywhere(ChaseRun& run) {
  const std::uint32_t all = cold_loads(run) + run.chase.loads;
  const double seconds = round(run, all);
  run.ran = 0;
  for (int i = 0; i < run.multiprocessors; ++i) {
    const std::uint32_t next = follow(run, run.chase.first, all);
    if (read_back(run.has_run(i)) == 1) {
      require_end(read_back(run.last(i)), next);
      ++run.ran;
    }
    run.chase.first = next;
  }
  const std::uint64_t loads = std::uint64_t{run.chase.loads} * static_cast<unsigned>(run.ran);
  if (loads == 0) throw Failure("the chase ran on no multiprocessor");
  run.loads += loads;
  run.seconds.push_back(seconds);
  return (seconds - run.overhead_s) * 1e9 / static_cast<double>(loads);
}

void time_overhead(ChaseRun& run) {
  constexpr int kTimes = 5;
  std::vector<double> seconds;
  for (int i = 0; i < kTimes; ++i) seconds.push_back(round(run, cold_loads(run)));
  run.overhead_s = *std::min_element(seconds.begin(), seconds.end());
  run.chase.loads = kLoadsOfRound * times_more(run);
}

void size_chase(ChaseRun& run, double sample_s) {
  while (run.chase.loads < kMostLoads && !interrupted()) {
    sample(run);
    if (run.seconds.back() >= sample_s) return;
    run.chase.loads *= 2;
  }
}

// Seconds of a chase on one multiprocessor; none where no block came there.
std::optional<double> seconds_on(ChaseRun& run, int multiprocessor, std::uint32_t loads) {
  std::uint32_t* const ran = run.has_run(0);
  check_cuda(cudaMemsetAsync(ran, 0, sizeof(unsigned), run.stream.get()), "clearing a flag");
  run.chase.loads = loads;
  timed(run, [&] {
    launch_chase_on(run.chase, multiprocessor, run.multiprocessors, ran, run.stream.get());
  });
  if (read_back(ran) != 1) return std::nullopt;
  const std::uint32_t last = read_back(run.last(0));
  require_end(last, follow(run, run.chase.first, loads));
  run.chase.first = last;  // The next one goes on, past what this one left in the L2.
  return run.seconds.back();
}

// ns a load on each multiprocessor in turn, ascending, where the chase ran on it; by what more
// loads take than cold ones, so that launches and a cold L1 are no part of it.
std::vector<std::pair<double, int>> by_multiprocessor(ChaseRun& run) {
  const std::uint32_t cold = cold_loads(run);
  const std::uint32_t more = kLoadsShown * times_more(run);
  std::vector<std::pair<double, int>> found;
  for (int i = 0; i < run.multiprocessors && !interrupted(); ++i) {
    const std::optional<double> before = seconds_on(run, i, cold);
    const std::optional<double> after = seconds_on(run, i, cold + more);
    if (before && after) found.emplace_back((*after - *before) * 1e9 / more, i);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Percentiles over the multiprocessors: the median of three rounds, from the least to the most.
void add_by_multiprocessor(ChaseRun& run, Outcome& outcome) {
  constexpr std::size_t kRounds = 3;
  std::vector<std::vector<std::pair<double, int>>> rounds;
  while (rounds.size() < kRounds) {
    rounds.push_back(by_multiprocessor(run));
    if (rounds.back().empty() || interrupted()) return;
  }
  const auto add = [&](const char* name, double share) {
    std::vector<double> ns;
    for (const auto& found : rounds) {
      const double at = share * static_cast<double>(found.size() - 1);
      ns.push_back(found[static_cast<std::size_t>(std::lround(at))].first);
    }
    std::sort(ns.begin(), ns.end());
    outcome.figures.push_back({.metric = name,
                               .unit = "ns",
                               .estimate = ns[kRounds / 2],
                               .low = ns.front(),
                               .high = ns.back()});
  };
  add("latency of the fastest SM", 0);
  add("latency of SMs, 5th percentile", 0.05);
  add("latency of SMs, median", 0.5);
  add("latency of SMs, 95th percentile", 0.95);
  add("latency of the slowest SM", 1);
  const auto& last = rounds.back();
  outcome.evidence["notes"].push_back(
      fmt::format("by SM: {} rounds of {} loads on each of {} of {}; in the last, fastest SM {}, "
                  "slowest SM {}",
                  kRounds, kLoadsShown * times_more(run), last.size(), run.multiprocessors,
                  last.front().second, last.back().second));
}

void require_memory_of(const GpuLatencySpec& spec) {
  require_gpu(spec.gpu);
  if (spec.bulk && !has_bulk_copy(attribute_of(spec.gpu, cudaDevAttrComputeCapabilityMajor))) {
    throw Unavailable(fmt::format("GPU {} has no bulk copies (TMA)", spec.gpu),
                      "it takes compute capability 9.0; use the engine sm");
  }
  if (!spec.memory.on_host()) {
    require_gpu(spec.memory.gpu);
    require_peer(spec.gpu, spec.memory.gpu);
  } else if (spec.memory.kind == HostKind::kPageable && !reaches_pageable_memory(spec.gpu)) {
    throw Unavailable(fmt::format("GPU {} cannot reach pageable memory where it is", spec.gpu),
                      "it takes a coherent link (ATS); chase pinned memory");
  }
}

}  // namespace

Outcome measure_gpu_latency(const GpuLatencySpec& spec, Workspace& workspace,
                            const Progress& progress) {
  require_memory_of(spec);
  const NamedRange range(fmt::format("gpu:{} latency {} bytes", spec.gpu, spec.size));
  Trace trace(spec.common.trace);
  const int cpu = spec.common.cpus.front();
  const OnCpu on_cpu(cpu);
  const OnGpu on(spec.gpu);
  Monitor monitor({spec.gpu}, cpu);
  const std::vector<Buffer*> buffers =
      take_buffers({{spec.memory, spec.size, spec.gpu}}, workspace.team(spec.common.cpus));
  Gate gate;
  ChaseRun run = set_up(spec, *buffers.front(), gate);
  if (spec.every_multiprocessor) {
    time_overhead(run);
  } else {
    size_chase(run, std::max(spec.common.sampling.sample_s, shortest_sample()));
  }
  run.seconds.clear();
  monitor.restart();
  const DisturbanceWatch watch({cpu});
  Outcome outcome{
      .metric = "latency",
      .unit = "ns",
      .sampled = take_samples(
          spec.common.sampling,
          [&] { return spec.every_multiprocessor ? sample_everywhere(run) : sample(run); },
          real_surroundings(progress)),
      .figures = {},
      .evidence = {}};
  std::vector<std::string> notes;
  nlohmann::ordered_json gpus = monitor.report(notes);
  if (outcome.sampled.samples.empty()) return outcome;
  add_sampling_evidence(outcome.evidence, outcome.sampled, watch);
  constexpr std::uint64_t kSector = 32;
  outcome.evidence["walked_bytes"] = std::min<std::uint64_t>(run.loads, run.next.size()) * kSector;
  outcome.evidence["verified"] =
      "the cycle's length, and where each sample of the chase ended, against the CPU's own walk";
  outcome.evidence["sample_ns"] = estimate_median(run.seconds).median * 1e9;
  outcome.evidence["clock"] = "CUDA events, about 0.5 us steps";
  outcome.evidence["gpus"] = std::move(gpus);
  add_buffer_evidence(outcome.evidence, notes, buffers);
  if (spec.every_multiprocessor) {
    notes.push_back(fmt::format(
        "each sample is the mean over {} of {} SMs, {} loads on each; launches and cold loads, "
        "{:.2f} us for each SM, are taken off",
        run.ran, run.multiprocessors, run.chase.loads, run.overhead_s * 1e6 / run.multiprocessors));
  }
  for (const std::string& note : notes) outcome.evidence["notes"].push_back(note);
  if (spec.per_multiprocessor) add_by_multiprocessor(run, outcome);
  if (spec.common.trace) outcome.evidence["trace"] = trace.report();
  return outcome;
}

}  // namespace tierscope
