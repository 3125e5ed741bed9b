// Bandwidth of a team of CPUs to placed memory.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "access/kernel.h"
#include "access/random_order.h"
#include "benches/evidence.h"
#include "benches/kinds.h"
#include "benches/memory_spec.h"
#include "benches/window.h"
#include "benches/workspace.h"
#include "errors.h"
#include "memory/placement.h"
#include "memory/system_memory.h"
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

// What an array holds that was only read since it was filled.
struct FilledForReads {};

// A thread's part of the arrays, and its rate in each sample.
struct Share {
  Walk walk;
  Position position;
  std::vector<double> rates;  // Program bytes/s.
};

double bytes_per_access(const BandwidthSpec& spec) {
  return static_cast<double>(spec.access_size) * traits_of(spec.operation).program_bytes;
}

std::vector<Share> divide(const BandwidthSpec& spec, const std::vector<Region*>& arrays) {
  const std::uint64_t accesses = spec.size / spec.access_size;
  const std::uint64_t threads = spec.cpus.size();
  std::vector<Share> shares(threads);
  std::uint64_t first = 0;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    const std::uint64_t share = accesses / threads + (thread < accesses % threads ? 1 : 0);
    const auto at = [&](std::size_t array) {
      return array < arrays.size()
                 ? reinterpret_cast<double*>(arrays[array]->data() + first * spec.access_size)
                 : nullptr;
    };
    shares[thread].walk = {.a = at(0),
                           .b = at(1),
                           .c = at(2),
                           .scalar = kScalar,
                           .bytes = share * spec.access_size,
                           .access_size = spec.access_size,
                           .stride = spec.stride};
    shares[thread].position.state = thread * 0x9e3779b97f4a7c15ULL;  // Not in step with another.
    first += share;
  }
  return shares;
}

void fill(const Walk& walk) {
  const std::size_t n = walk.bytes / sizeof(double);
  std::fill_n(walk.a, n, kBefore);
  for (std::size_t i = 0; walk.b != nullptr && i < n; ++i) walk.b[i] = b_at(i);
  for (std::size_t i = 0; walk.c != nullptr && i < n; ++i) walk.c[i] = c_at(i);
}

// Counts how much of what a thread wrote is as it should be; throws Failure at the first wrong
// element. Returns the bytes of the array that were written at least once.
std::uint64_t verify_written(const BandwidthSpec& spec, const Walk& walk, std::uint64_t accesses) {
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
  const std::uint64_t elements = accesses * (spec.access_size / sizeof(double));
  const auto expected = static_cast<double>(elements);
  if (updates != expected) {
    throw Failure(fmt::format("rmw left the traces of {} updates of an element where {} were made",
                              updates, expected));
  }
  return written * sizeof(double);
}

// Bytes of a thread's share that its accesses reached at least.
std::uint64_t walked_bytes(const BandwidthSpec& spec, const Walk& walk, std::uint64_t accesses) {
  const std::uint64_t blocks = walk.accesses();
  std::uint64_t reached = std::min(accesses, blocks);
  if (spec.order == Order::kRandom) {
    const std::uint64_t period = RandomOrder(blocks).period();
    // Until the period is over, two states may have led to one block.
    if (period != blocks && accesses < period) reached = std::min(reached, accesses / 2);
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

nlohmann::ordered_json evidence_of(const BandwidthSpec& spec, const std::vector<Region*>& arrays,
                                   const std::vector<Share>& shares,
                                   const std::vector<Worker>& workers, const Sampled& sampled,
                                   const DisturbanceWatch& watch) {
  nlohmann::ordered_json evidence = region_evidence(arrays);
  std::vector<int> cpus;
  std::vector<double> threads;
  std::uint64_t walked = 0;
  std::uint64_t written = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    cpus.push_back(workers[i].last_cpu);
    threads.push_back(estimate_median(shares[i].rates).median);
    walked += walked_bytes(spec, shares[i].walk, workers[i].done);
    written += verify_written(spec, shares[i].walk, workers[i].done);
  }
  evidence["cpus"] = cpus;
  evidence["isa"] = spec.isa;
  if (spec.operation != Operation::kRead) {
    evidence["verified"] = fmt::format("{} bytes written, each element equal to {}", written,
                                       traits_of(spec.operation).formula);
  }
  evidence["walked_bytes"] = walked;
  if (spec.order == Order::kRandom) {
    evidence["address_ns"] = address_cost_ns(spec, shares.front().walk);
  }
  evidence["threads"] = threads;
  evidence["sample_ns"] = std::max(spec.sampling.sample_s, shortest_sample()) * 1e9;
  add_sampling_evidence(evidence, sampled, watch);
  return evidence;
}

Outcome measure(const BandwidthSpec& spec, Workspace& workspace, const Progress& progress) {
  const OperationTraits& traits = traits_of(spec.operation);
  const Kernel kernel = find_kernel(spec.isa, spec.operation, spec.order);
  Team& team = workspace.team(spec.cpus);
  const std::vector<RegionKind> kinds(static_cast<std::size_t>(traits.arrays),
                                      {spec.size, spec.pages, spec.placement});
  const std::vector<Lent> lent = workspace.lend(kinds, team);
  std::vector<Region*> arrays;
  for (const Lent& array : lent) arrays.push_back(array.region);
  std::vector<Share> shares = divide(spec, arrays);
  // A sweep of reads leaves its array as it was; filling it anew would take longer than a reading.
  const bool reads = spec.operation == Operation::kRead;
  if (!reads || std::any_cast<FilledForReads>(lent.front().contents) == nullptr) {
    team.run([&](int thread) { fill(shares[static_cast<std::size_t>(thread)].walk); });
  }
  for (const Lent& array : lent) array.contents->reset();
  if (reads) *lent.front().contents = FilledForReads{};
  std::vector<Worker> workers;
  for (Share& share : shares) {
    workers.push_back({.work = [kernel, &share](std::uint64_t accesses) {
      kernel(share.walk, share.position, accesses);
    }});
  }

  const double sample_s = std::max(spec.sampling.sample_s, shortest_sample());
  size_chunks(team, workers, sample_s);
  const auto moved = [&] {
    double accesses = 0;
    for (const Worker& worker : workers) accesses += static_cast<double>(worker.done);
    const double program_bytes = accesses * bytes_per_access(spec);
    return Moved{program_bytes, program_bytes * traits.bus_bytes / traits.program_bytes};
  };
  DisturbanceWatch watch(spec.cpus);
  const auto sample = [&] {
    work_for(team, workers, sample_s);
    double total = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i].rates.push_back(workers[i].units_in_window * bytes_per_access(spec) / sample_s);
      total += shares[i].rates.back();
    }
    watch.note(most_lost(workers));
    return total;
  };
  const TrafficCheck traffic(moved());
  Outcome outcome{
      .metric = "bandwidth",
      .unit = "B/s",
      .sampled = take_samples(spec.sampling, sample, real_surroundings(progress, &watch)),
      .figures = {},
      .evidence = {}};
  const nlohmann::ordered_json counted = traffic.counted(moved());
  if (outcome.sampled.samples.empty()) return outcome;
  const std::size_t bytes = spec.size * static_cast<std::size_t>(traits.arrays);
  if (traits.bus_bytes != traits.program_bytes && bytes > last_level_cache_bytes(spec.cpus)) {
    const double ratio = static_cast<double>(traits.bus_bytes) / traits.program_bytes;
    const Estimate& estimate = outcome.sampled.estimate;
    outcome.figures.push_back({.metric = "bandwidth_with_write_allocate",
                               .unit = "B/s",
                               .estimate = estimate.median * ratio,
                               .low = estimate.low * ratio,
                               .high = estimate.high * ratio});
  }
  outcome.evidence = evidence_of(spec, arrays, shares, workers, outcome.sampled, watch);
  if (!counted.empty()) outcome.evidence["counters"] = counted;
  return outcome;
}

Operation read_operation(ObjectReader& pattern) {
  std::vector<std::pair<std::string_view, Operation>> names;
  for (const OperationTraits& traits : kOperations)
    names.emplace_back(traits.name, traits.operation);
  return pattern.choice("operation", names);
}

BandwidthSpec read_spec(ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, Order>, 4> kOrders{
      {{"sequential", Order::kSequential},
       {"reverse", Order::kReverse},
       {"strided", Order::kStrided},
       {"random", Order::kRandom}}};
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
  spec.isa = pattern.has("isa") ? read_isa(pattern) : "auto";
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
