// Bandwidth of a team of CPUs to placed memory.
#include <fmt/format.h>
#include <hwy/cache_control.h>
#include <sched.h>

#include <algorithm>
#include <optional>

#include "access/kernel.h"
#include "access/random_order.h"
#include "benches/evidence.h"
#include "benches/kinds.h"
#include "benches/memory_spec.h"
#include "benches/workspace.h"
#include "errors.h"
#include "interrupt.h"
#include "memory/placement.h"
#include "protocol/object_reader.h"
#include "sampling/clock.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

struct BandwidthSpec {
  std::vector<int> cpus;
  Placement placement;
  SamplingRule sampling;
  Operation operation;
  Order order;
  std::size_t access_size;
  std::size_t stride;  // 0 but for order strided.
  std::size_t size;    // Bytes of each array.
  Pages pages;
  std::string isa;
};

constexpr double kScalar = 3.0;
constexpr double kBefore = -1.0;  // What array a holds before it is written.

// Small whole numbers, so that every operation's result is exact.
double b_at(std::size_t i) { return static_cast<double>(i % 1024 + 1); }
double c_at(std::size_t i) { return static_cast<double>(i % 512 + 2); }

// What one thread works on and what came of it.
struct Worker {
  Walk walk;
  Position position;
  std::uint64_t chunk = 1;  // Accesses between two looks at the clock.
  std::uint64_t accesses = 0;
  int last_cpu = -1;
  long switches = 0;              // Involuntary ones during the last sample.
  double accesses_in_window = 0;  // Of the last sample.
  std::vector<double> rates;      // Program bytes/s, one for each sample.
};

double bytes_per_access(const BandwidthSpec& spec) {
  return static_cast<double>(spec.access_size) * traits_of(spec.operation).program_bytes;
}

std::vector<Worker> divide(const BandwidthSpec& spec, const std::vector<Region*>& arrays) {
  const std::uint64_t accesses = spec.size / spec.access_size;
  const std::uint64_t threads = spec.cpus.size();
  std::vector<Worker> workers(threads);
  std::uint64_t first = 0;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    const std::uint64_t share = accesses / threads + (thread < accesses % threads ? 1 : 0);
    const auto at = [&](std::size_t array) {
      return array < arrays.size()
                 ? reinterpret_cast<double*>(arrays[array]->data() + first * spec.access_size)
                 : nullptr;
    };
    workers[thread].walk = {.a = at(0),
                            .b = at(1),
                            .c = at(2),
                            .scalar = kScalar,
                            .bytes = share * spec.access_size,
                            .access_size = spec.access_size,
                            .stride = spec.stride};
    workers[thread].position.state = thread * 0x9e3779b97f4a7c15ULL;  // Not in step with another.
    first += share;
  }
  return workers;
}

void fill(const Walk& walk) {
  const std::size_t n = walk.bytes / sizeof(double);
  std::fill_n(walk.a, n, kBefore);
  for (std::size_t i = 0; walk.b != nullptr && i < n; ++i) walk.b[i] = b_at(i);
  for (std::size_t i = 0; walk.c != nullptr && i < n; ++i) walk.c[i] = c_at(i);
}

// Lets `worker` work from the gate on for `seconds`. All threads share the gate and its start, and
// each goes on past the end with the chunk it is in; only the part of that chunk that lies before
// the end counts. So all threads are active for the whole of what is counted.
void work_for(double seconds, Kernel kernel, Team& team, Worker& worker) {
  const long switches = involuntary_switches();
  const double start = team.pass_gate();
  const double end = start + seconds;
  double before = start;
  std::uint64_t done = 0;
  while (true) {
    kernel(worker.walk, worker.position, worker.chunk);
    const double after = now_seconds();
    if (after >= end || interrupted()) {
      const double share = std::clamp((end - before) / (after - before), 0.0, 1.0);
      worker.accesses_in_window =
          static_cast<double>(done) + share * static_cast<double>(worker.chunk);
      worker.accesses += done + worker.chunk;
      break;
    }
    done += worker.chunk;
    before = after;
  }
  hwy::FlushStream();  // Non-temporal stores are done before anybody looks at the data.
  worker.last_cpu = sched_getcpu();
  worker.switches = involuntary_switches() - switches;
}

// Grows each thread's chunk until it lasts for a thousand clock readings, while the whole team
// runs. Longer chunks would only make the uncounted end of a sample longer.
void size_chunks(double sample_s, Kernel kernel, Team& team, std::vector<Worker>& workers) {
  const double wanted = std::min(shortest_sample(), sample_s / 10);
  team.run([&](int thread) {
    Worker& worker = workers[static_cast<std::size_t>(thread)];
    team.pass_gate();
    while (!interrupted()) {
      const double start = now_seconds();
      kernel(worker.walk, worker.position, worker.chunk);
      worker.accesses += worker.chunk;
      if (now_seconds() - start >= wanted) break;
      worker.chunk *= 2;
    }
  });
}

// Counts how much of what a thread wrote is as it should be; throws Failure at the first wrong
// element. Returns the bytes of the array that were written at least once.
std::uint64_t verify_written(const BandwidthSpec& spec, const Worker& worker) {
  const Walk& walk = worker.walk;
  const std::size_t n = walk.bytes / sizeof(double);
  const auto count = [&](auto expected) {
    std::size_t written = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (walk.a[i] == expected(i)) {
        ++written;
      } else if (walk.a[i] != kBefore) {
        throw Failure(fmt::format("{} left {} where {} belongs, {} bytes into a thread's share",
                                  traits_of(spec.operation).name, walk.a[i], expected(i),
                                  i * sizeof(double)));
      }
    }
    return written * sizeof(double);
  };
  switch (spec.operation) {
    case Operation::kRead:
      return 0;
    case Operation::kWrite:
    case Operation::kWriteNt:
      return count([](std::size_t) { return kScalar; });
    case Operation::kCopy:
    case Operation::kCopyNt:
      return count(b_at);
    case Operation::kScale:
      return count([](std::size_t i) { return kScalar * b_at(i); });
    case Operation::kAdd:
      return count([](std::size_t i) { return b_at(i) + c_at(i); });
    case Operation::kTriad:
      return count([](std::size_t i) { return b_at(i) + kScalar * c_at(i); });
    case Operation::kRmw:
      break;
  }
  // Every update added the scalar once, so the sum tells how many there were.
  double updates = 0;
  std::size_t written = 0;
  for (std::size_t i = 0; i < n; ++i) {
    updates += (walk.a[i] - kBefore) / kScalar;
    written += walk.a[i] != kBefore ? 1U : 0U;
  }
  const double expected =
      static_cast<double>(worker.accesses * (spec.access_size / sizeof(double)));
  if (updates != expected) {
    throw Failure(fmt::format("rmw left the traces of {} updates of an element where {} were made",
                              updates, expected));
  }
  return written * sizeof(double);
}

// Bytes of a thread's share that its accesses reached at least.
std::uint64_t walked_bytes(const BandwidthSpec& spec, const Worker& worker) {
  const std::uint64_t blocks = worker.walk.accesses();
  std::uint64_t reached = std::min(worker.accesses, blocks);
  if (spec.order == Order::kRandom) {
    const std::uint64_t period = RandomOrder(blocks).period();
    // Until the period is over, two states may have led to one block.
    if (period != blocks && worker.accesses < period)
      reached = std::min(reached, worker.accesses / 2);
  }
  return reached * spec.access_size;
}

// Time to make one random address, the same code without the accesses, in ns.
double address_cost_ns(const BandwidthSpec& spec, const Walk& walk) {
  constexpr std::uint64_t kAddresses = 1U << 16;
  const Kernel kernel = find_address_kernel(spec.isa);
  Position position;
  kernel(walk, position, kAddresses);
  const double start = now_seconds();
  kernel(walk, position, kAddresses);
  return (now_seconds() - start) * 1e9 / static_cast<double>(kAddresses);
}

struct Disturbance {
  int samples = 0;
  double steal_share = 0;
};

nlohmann::ordered_json evidence_of(const BandwidthSpec& spec, const std::vector<Region*>& arrays,
                                   const std::vector<Worker>& workers, const Sampled& sampled,
                                   const Disturbance& disturbance) {
  nlohmann::ordered_json evidence = region_evidence(arrays);
  std::vector<int> cpus;
  std::vector<double> threads;
  std::uint64_t walked = 0;
  std::uint64_t written = 0;
  for (const Worker& worker : workers) {
    cpus.push_back(worker.last_cpu);
    if (!worker.rates.empty()) threads.push_back(estimate_median(worker.rates).median);
    walked += walked_bytes(spec, worker);
    written += verify_written(spec, worker);
  }
  evidence["cpus"] = cpus;
  evidence["isa"] = spec.isa;
  if (spec.operation != Operation::kRead) {
    evidence["verified"] = fmt::format("{} bytes written, each element equal to {}", written,
                                       traits_of(spec.operation).formula);
  }
  evidence["walked_bytes"] = walked;
  if (spec.order == Order::kRandom) {
    evidence["address_ns"] = address_cost_ns(spec, workers.front().walk);
  }
  evidence["threads"] = threads;
  evidence["sample_ns"] = std::max(spec.sampling.sample_s, shortest_sample()) * 1e9;
  add_sampling_evidence(evidence, sampled, disturbance.samples, disturbance.steal_share);
  return evidence;
}

Outcome measure(const BandwidthSpec& spec, Workspace& workspace, const Progress& progress) {
  const OperationTraits& traits = traits_of(spec.operation);
  const Kernel kernel = find_kernel(spec.isa, spec.operation, spec.order);
  Team& team = workspace.team(spec.cpus);
  const std::vector<Region*> arrays = workspace.regions(
      static_cast<std::size_t>(traits.arrays), spec.size, spec.pages, spec.placement, team);
  std::vector<Worker> workers = divide(spec, arrays);
  const auto worker_of = [&](int thread) -> Worker& {
    return workers[static_cast<std::size_t>(thread)];
  };
  team.run([&](int thread) { fill(worker_of(thread).walk); });

  const double sample_s = std::max(spec.sampling.sample_s, shortest_sample());
  size_chunks(sample_s, kernel, team, workers);
  Disturbance disturbance;
  const auto sample = [&] {
    team.run([&](int thread) { work_for(sample_s, kernel, team, worker_of(thread)); });
    double total = 0;
    long switches = 0;
    for (Worker& worker : workers) {
      worker.rates.push_back(worker.accesses_in_window * bytes_per_access(spec) / sample_s);
      total += worker.rates.back();
      switches += worker.switches;
    }
    disturbance.samples += switches > 0 ? 1 : 0;
    return total;
  };
  const double stolen_before = stolen_seconds(spec.cpus);
  const double start = now_seconds();
  Outcome outcome{.metric = "bandwidth",
                  .unit = "B/s",
                  .sampled = take_samples(spec.sampling, sample, real_surroundings(progress)),
                  .figures = {},
                  .evidence = {}};
  if (outcome.sampled.samples.empty()) return outcome;
  disturbance.steal_share = (stolen_seconds(spec.cpus) - stolen_before) /
                            ((now_seconds() - start) * static_cast<double>(spec.cpus.size()));
  if (traits.bus_bytes != traits.program_bytes) {
    const double ratio = static_cast<double>(traits.bus_bytes) / traits.program_bytes;
    const Estimate& estimate = outcome.sampled.estimate;
    outcome.figures.push_back({.metric = "bandwidth_with_write_allocate",
                               .unit = "B/s",
                               .estimate = estimate.median * ratio,
                               .low = estimate.low * ratio,
                               .high = estimate.high * ratio});
  }
  outcome.evidence = evidence_of(spec, arrays, workers, outcome.sampled, disturbance);
  return outcome;
}

Operation read_operation(ObjectReader& pattern) {
  std::vector<std::pair<std::string_view, Operation>> names;
  for (const OperationTraits& traits : kOperations)
    names.emplace_back(traits.name, traits.operation);
  return pattern.choice("operation", names);
}

std::string resolve_isa(const std::string& asked) {
  const std::span<const std::string_view> supported = supported_isas();
  if (asked == "auto") return std::string(supported.front());
  if (std::ranges::find(supported, asked) != supported.end()) return asked;
  throw Unavailable(fmt::format("this CPU or this build has no {} kernels; it has {}", asked,
                                fmt::join(supported, ", ")),
                    "name one of those, or auto");
}

BandwidthSpec read_spec(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, Order>, 4> kOrders{
      {{"sequential", Order::kSequential},
       {"reverse", Order::kReverse},
       {"strided", Order::kStrided},
       {"random", Order::kRandom}}};
  static constexpr std::array<std::pair<std::string_view, int>, 6> kIsas{
      {{"auto", 0}, {"sse4", 0}, {"avx2", 0}, {"avx512", 0}, {"neon", 0}, {"sve", 0}}};
  constexpr std::size_t kMostThreads = 4096;
  constexpr std::size_t kDefaultAccess = 64;

  BandwidthSpec spec{};
  spec.cpus = measurement.distinct_integers("cpus", 0, kHighestCpu, kMostThreads);
  spec.placement = read_placement(measurement);
  spec.sampling = read_sampling(measurement);
  ObjectReader pattern = measurement.object("pattern");
  spec.operation = read_operation(pattern);
  spec.order = pattern.has("order") ? pattern.choice("order", kOrders) : Order::kSequential;
  spec.access_size = pattern.has("access_size") ? pattern.bytes("access_size") : kDefaultAccess;
  const bool has_stride = pattern.has("stride") && !pattern.any("stride").is_null();
  if (has_stride) spec.stride = pattern.bytes("stride");
  spec.size = pattern.bytes("size");
  spec.pages = pattern.has("pages") ? pattern.choice("pages", kPagesNames) : Pages::kThp;
  spec.isa = "auto";
  if (pattern.has("isa")) {
    pattern.choice("isa", kIsas);
    spec.isa = pattern.text("isa");
  }
  pattern.finish();
  if ((spec.order == Order::kStrided) != has_stride) {
    throw pattern.error("stride", "goes with order strided, and only with it");
  }
  if (has_stride && spec.stride < spec.access_size) {
    throw pattern.error("stride", "is smaller than access_size");
  }
  if (spec.size / std::max(spec.stride, spec.access_size) < spec.cpus.size()) {
    throw pattern.error("size", "has fewer accesses than there are threads");
  }
  return spec;
}

}  // namespace

Job parse_bandwidth(ObjectReader& measurement) {
  return [spec = read_spec(measurement)](Workspace& workspace, const Progress& progress) {
    BandwidthSpec resolved = spec;
    resolved.isa = resolve_isa(spec.isa);
    return measure(resolved, workspace, progress);
  };
}

}  // namespace tierscope
