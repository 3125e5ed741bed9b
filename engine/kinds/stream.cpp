#include "benches/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "access/write_back.h"
#include "benches/evidence.h"
#include "benches/memory_spec.h"
#include "errors.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

constexpr double kBefore = -1.0;
constexpr double kWritten = 3.0;
constexpr std::size_t kLine = 64;
constexpr std::size_t kLineDoubles = kLine / sizeof(double);

double spin_step_ns() {
  static const double step_ns = [] {
    constexpr std::uint64_t kSteps = 1U << 18;
    spin(kSteps);  // The clock's frequency comes up.
    const double start = now_seconds();
    spin(kSteps);
    return (now_seconds() - start) * 1e9 / kSteps;
  }();
  return step_ns;
}

WriteBack write_back_of(Stores stores) {
  return stores == Stores::kWriteBack ? WriteBack::kKeep
         : stores == Stores::kFlush   ? WriteBack::kDrop
                                      : WriteBack::kNone;
}

}  // namespace

StreamSpec read_stream(ObjectReader& workload) {
  static constexpr std::array<std::pair<std::string_view, Order>, 3> kOrders{
      {{"sequential", Order::kSequential}, {"random", Order::kRandom}, {"zipf", Order::kZipf}}};
  static constexpr std::array<std::pair<std::string_view, Stores>, 4> kStores{
      {{"ordinary", Stores::kOrdinary},
       {"nt", Stores::kStreaming},
       {"clwb", Stores::kWriteBack},
       {"clflushopt", Stores::kFlush}}};
  constexpr double kDefaultAlpha = 0.9;
  constexpr double kSteepest = 10;
  constexpr std::int64_t kFurthest = 1 << 20;
  constexpr std::size_t kMostThreads = 4096;
  constexpr std::size_t kDefaultAccess = 1024;
  constexpr std::int64_t kLongestDelay = 1'000'000'000;

  StreamSpec spec{};
  spec.cpus = workload.distinct_integers("cpus", 0, kHighestCpu, kMostThreads);
  spec.placement = read_placement(workload);
  ObjectReader pattern = workload.object("pattern");
  if (pattern.has("writes")) spec.writes = static_cast<int>(pattern.integer("writes", 0, 100));
  if (pattern.has("stores")) spec.stores = pattern.choice("stores", kStores);
  spec.order = pattern.has("order") ? pattern.choice("order", kOrders) : Order::kSequential;
  spec.access_size = pattern.has("access_size") ? pattern.bytes("access_size") : kDefaultAccess;
  spec.size = pattern.bytes("size");
  spec.pages = pattern.has("pages") ? pattern.choice("pages", kPagesNames) : Pages::kThp;
  spec.isa = pattern.has("isa") ? read_isa(pattern) : "auto";
  spec.delay_ns = pattern.has("delay_ns")
                      ? static_cast<double>(pattern.integer("delay_ns", 0, kLongestDelay))
                      : 0;
  if (pattern.has("prefetch")) {
    spec.prefetch = static_cast<std::size_t>(pattern.integer("prefetch", 0, kFurthest));
  }
  spec.zipf_alpha =
      pattern.has("zipf_alpha") ? pattern.positive("zipf_alpha", kSteepest) : kDefaultAlpha;
  pattern.finish();
  if (spec.prefetch % kLine != 0) throw pattern.error("prefetch", "is not a multiple of 64");
  if (spec.prefetch != 0 && spec.order != Order::kSequential) {
    throw pattern.error("prefetch", "goes with order sequential only");
  }
  if (spec.size / spec.access_size < spec.cpus.size()) {
    throw pattern.error("size", "has fewer accesses than there are threads");
  }
  return spec;
}

Stream::Stream(const StreamSpec& spec, Region& region, Team& team, int first_thread)
    : spec_(spec),
      region_(region),
      mix_{.writes = spec.writes,
           .delay = static_cast<std::uint64_t>(std::llround(spec.delay_ns / spin_step_ns())),
           .prefetch = spec.prefetch} {
  spec_.isa = resolve_isa(spec.isa);
  if (!has_write_back(write_back_of(spec.stores))) {
    throw Unavailable(
        fmt::format("this CPU has no {}", spec.stores == Stores::kFlush ? "CLFLUSHOPT" : "CLWB"),
        "write with ordinary or non-temporal stores");
  }
  const std::uint64_t accesses = spec.size / spec.access_size;
  const std::uint64_t threads = spec.cpus.size();
  std::uint64_t first = 0;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    const std::uint64_t share = accesses / threads + (thread < accesses % threads ? 1 : 0);
    shares_.push_back({});
    shares_.back().walk = {.a = reinterpret_cast<double*>(region.data() + first * spec.access_size),
                           .scalar = kWritten,
                           .bytes = share * spec.access_size,
                           .access_size = spec.access_size};
    shares_.back().seed = thread * 0x9e3779b97f4a7c15ULL;  // Not in step with another.
    shares_.back().position.state = shares_.back().seed;
    if (spec.order == Order::kZipf) shares_.back().zipf.emplace(share, spec.zipf_alpha);
    first += share;
  }
  if (spec.writes == 0) return;
  team.run([&](int thread) {
    const int index = thread - first_thread;
    if (index < 0 || index >= static_cast<int>(shares_.size())) return;
    const Walk& walk = shares_[static_cast<std::size_t>(index)].walk;
    std::fill_n(walk.a, walk.bytes / sizeof(double), kBefore);
  });
}

std::vector<Worker> Stream::workers() {
  const MixedKernel kernel = find_mixed_kernel(spec_.isa, spec_.order, spec_.stores);
  std::vector<Worker> workers;
  for (Share& share : shares_) {
    Mix mix = mix_;
    if (share.zipf) mix.zipf = &*share.zipf;
    workers.push_back({.work = [kernel, &share, mix](std::uint64_t accesses) {
      kernel(share.walk, share.position, accesses, mix);
    }});
  }
  return workers;
}

// Bytes of a share that hold what was written, each line either wholly written or not at all.
std::uint64_t Stream::verify(const Share& share, std::uint64_t accesses) const {
  std::uint64_t written = 0;
  const std::size_t lines = share.walk.bytes / kLine;
  for (std::size_t line = 0; line < lines; ++line) {
    const double* const values = share.walk.a + line * kLineDoubles;
    const double first = values[0];
    const bool uniform = std::all_of(values, values + kLineDoubles,
                                     [first](double value) { return value == first; });
    if (!uniform || (first != kWritten && first != kBefore)) {
      throw Failure(
          fmt::format("the line {} bytes into a thread's share holds neither what was "
                      "there before nor what was written",
                      line * kLine));
    }
    written += first == kWritten ? kLine : 0;
  }
  // Sequential writes of one pass never meet, so as many lines as were written must be there.
  const std::uint64_t walked = std::min(accesses * spec_.access_size, share.walk.bytes) / kLine;
  const std::uint64_t least = spec_.order == Order::kSequential
                                  ? walked * static_cast<std::uint64_t>(spec_.writes) / 100
                                  : 0;
  if (written / kLine < least) {
    throw Failure(
        fmt::format("{} lines are written where at least {} should be", written / kLine, least));
  }
  return written;
}

// Blocks of a share that so many accesses reached at least.
std::uint64_t Stream::reached(const Share& share, std::uint64_t accesses) const {
  const std::uint64_t blocks = share.walk.accesses();
  if (!share.zipf) {
    // In random order two accesses may go to one block until the generator's period is over.
    return std::min(spec_.order == Order::kRandom ? accesses / 2 : accesses, blocks);
  }
  // Order zipf comes back to its hot blocks all the time; its beginning is made again and counted.
  constexpr std::uint64_t kMostCounted = 1U << 22;
  std::vector<bool> seen(blocks);
  std::uint64_t state = share.seed;
  std::uint64_t distinct = 0;
  for (std::uint64_t i = 0; i < std::min(accesses, kMostCounted); ++i) {
    const std::uint64_t block = share.zipf->next(state);
    distinct += seen[block] ? 0 : 1;
    seen[block] = true;
  }
  return distinct;
}

nlohmann::ordered_json Stream::evidence(std::span<const Worker> workers) const {
  nlohmann::ordered_json evidence = region_evidence({&region_});
  std::vector<int> cpus;
  std::uint64_t walked = 0;
  std::uint64_t written = 0;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const Share& share = shares_[i];
    cpus.push_back(workers[i].last_cpu);
    walked += reached(share, workers[i].done) * spec_.access_size;
    if (spec_.writes > 0) written += verify(share, workers[i].done);
  }
  evidence["cpus"] = cpus;
  evidence["isa"] = spec_.isa;
  if (spec_.writes > 0) {
    evidence["verified"] =
        fmt::format("{} bytes written, all other lines as they were before", written);
  }
  evidence["walked_bytes"] = walked;
  return evidence;
}

}  // namespace tierscope
