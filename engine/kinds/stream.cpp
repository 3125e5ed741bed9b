#include "kinds/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "access/write_back.h"
#include "errors.h"
#include "kinds/evidence.h"
#include "protocol/constants.h"
#include "protocol/plan_parts.h"
#include "sampling/clock.h"
#include "sizes.h"

namespace tierscope {
namespace {

constexpr double kWritten = kWrittenScalar;
constexpr std::size_t kLineDoubles = kCacheLine / sizeof(double);

// Contents of a region that streams use; none of them relies on what it holds.
struct ForStreams {};

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

StreamSpec read_stream(const ObjectReader& workload) {
  static constexpr std::array<std::pair<std::string_view, Order>, 3> kOrders{
      {{"sequential", Order::kSequential}, {"random", Order::kRandom}, {"zipf", Order::kZipf}}};
  static constexpr std::array<std::pair<std::string_view, Stores>, 4> kStores{
      {{"ordinary", Stores::kOrdinary},
       {"nt", Stores::kStreaming},
       {"clwb", Stores::kWriteBack},
       {"clflushopt", Stores::kFlush}}};

  StreamSpec spec{};
  spec.threads = read_threads(workload);
  spec.cpus = all_cpus(spec.threads);
  spec.on_sets = workload.has("cpu_sets");
  spec.placement = read_placement(workload, "placement");
  const ObjectReader pattern = workload.object("pattern");
  spec.writes = pattern.integer<int>("writes");
  spec.stores = pattern.choice("stores", kStores);
  spec.order = pattern.choice("order", kOrders);
  spec.access_size = pattern.bytes("access_size");
  spec.size = pattern.bytes("size");
  spec.pages = read_pages(pattern);
  spec.isa = pattern.text("isa");
  spec.delay_ns = pattern.number("delay_ns");
  spec.prefetch = pattern.bytes("prefetch");
  spec.zipf_alpha = pattern.number("zipf_alpha");
  workload.check(tables::kStreamPatternSize, spec.size / spec.access_size >= spec.threads.size());
  return spec;
}

Stream::Stream(const StreamSpec& spec) : spec_(spec), shares_(spec.threads.size()) {}

std::vector<Worker> Stream::workers() {
  std::vector<Worker> workers;
  for (Share& share : shares_) {
    workers.push_back({.work = [this, &share](std::uint64_t accesses) {
      kernel_(share.walk, share.position, accesses, mix_);
    }});
  }
  return workers;
}

bool Stream::fits(const std::any& contents) { return contents.type() == typeid(ForStreams); }

void Stream::open(const Lease& lease, Team& team, int first_thread, std::span<Worker> workers) {
  if (isa_.empty()) choose_kernel();
  region_ = lease.region;
  spec_.size = region_->size();
  if (lease.is_new || base_ != region_->data()) {
    base_ = region_->data();
    divide(workers);
  }
  const bool reads = spec_.writes == 0;
  *lease.contents = reads && lease.found.has_value() ? lease.found : ForStreams{};
  if (reads) return;
  team.run([&](int thread) {
    const int index = thread - first_thread;
    if (index < 0 || index >= static_cast<int>(shares_.size())) return;
    const auto i = static_cast<std::size_t>(index);
    overwrite(shares_[i].walk, proof(shares_[i]));
    shares_[i].before = workers[i].done;
  });
}

// All that the first repetition writes is compared; of further ones a sample at other places.
ProofSample Stream::proof(const Share& share) const {
  const std::uint64_t seed = compared_.repetitions;
  return seed == 0 ? ProofSample(share.walk.bytes) : ProofSample(share.walk.bytes, seed);
}

void Stream::choose_kernel() {
  const std::string isa = resolve_isa(spec_.isa);
  if (!has_write_back(write_back_of(spec_.stores))) {
    throw Unavailable(
        Cause::kIsa,
        fmt::format("this CPU has no {}", spec_.stores == Stores::kFlush ? "CLFLUSHOPT" : "CLWB"),
        "write with ordinary or non-temporal stores");
  }
  kernel_ = find_mixed_kernel(isa, spec_.order, spec_.stores);
  mix_ = {.writes = spec_.writes,
          .delay = static_cast<std::uint64_t>(std::llround(spec_.delay_ns / spin_step_ns())),
          .prefetch = spec_.prefetch};
  isa_ = isa;
}

// Cuts the region into the threads' shares; their walks begin anew.
void Stream::divide(std::span<Worker> workers) {
  const std::size_t grain = share_grain(spec_.pages, spec_.placement, spec_.access_size);
  const std::vector<ByteRange> cut = cut_into_shares(spec_.size, grain, shares_.size());
  for (std::size_t thread = 0; thread < shares_.size(); ++thread) {
    Share& share = shares_[thread];
    share.walk = {.a = reinterpret_cast<double*>(base_ + cut[thread].first),
                  .scalar = kWritten,
                  .bytes = cut[thread].last - cut[thread].first,
                  .access_size = spec_.access_size};
    share.seed = thread * 0x9e3779b97f4a7c15ULL;  // Not in step with another.
    share.start = round_pages(spec_.placement) == 1
                      ? 0
                      : spread_start(share.walk, spec_.order, thread, shares_.size());
    share.position = {.offset = share.start, .state = share.seed};
    if (spec_.order == Order::kZipf) {
      share.walk.zipf = &share.zipf.emplace(share.walk.accesses(), spec_.zipf_alpha);
    }
    workers[thread].done = 0;
  }
}

void Stream::verify(std::size_t thread, const Worker& worker) {
  Share& share = shares_[thread];
  share.reached = reached_bytes(share, worker.done);
  if (spec_.writes == 0) return;
  share.compared = proof(share).bytes();
  share.written = verified_bytes(share, worker.done - share.before);
}

// Bytes of a share's proof that hold what was written, each line either wholly written or not at
// all, after so many accesses.
std::uint64_t Stream::verified_bytes(const Share& share, std::uint64_t accesses) const {
  std::uint64_t written = 0;
  const ProofSample sample = proof(share);
  sample.for_each([&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; at += kCacheLine) {
      const double* const values = share.walk.a + at / sizeof(double);
      const double first = values[0];
      const bool uniform = std::all_of(values, values + kLineDoubles,
                                       [first](double value) { return value == first; });
      if (!uniform || (first != kWritten && first != kOverwritten)) {
        throw Failure(fmt::format("the line {} bytes into a thread's share holds neither what was "
                                  "there before nor what was written",
                                  at),
                      Cause::kVerification);
      }
      written += first == kWritten ? kCacheLine : 0;
    }
  });
  // Sequential writes of one pass never meet, so as many lines as were written must be there.
  const std::uint64_t walked =
      std::min(accesses * spec_.access_size, share.walk.bytes) / kCacheLine;
  const std::uint64_t least = spec_.order == Order::kSequential && sample.all()
                                  ? walked * static_cast<std::uint64_t>(spec_.writes) / 100
                                  : 0;
  if (written / kCacheLine < least) {
    throw Failure(fmt::format("{} lines are written where at least {} should be",
                              written / kCacheLine, least),
                  Cause::kVerification);
  }
  return written;
}

// Bytes of a share that so many accesses reached at least.
std::uint64_t Stream::reached_bytes(const Share& share, std::uint64_t accesses) const {
  if (share.zipf) return zipf_bytes(share.walk, share.seed, accesses);
  // In random order two accesses may go to one block until the generator's period is over.
  const std::uint64_t reached = spec_.order == Order::kRandom ? accesses / 2 : accesses;
  return std::min(reached, share.walk.accesses()) * spec_.access_size;
}

nlohmann::ordered_json Stream::evidence(std::span<const Worker> workers) {
  std::vector<WalkedShare> walks;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const Share& share = shares_[i];
    walks.push_back(
        {.walk = share.walk,
         .order = spec_.order,
         .first = static_cast<std::size_t>(reinterpret_cast<std::byte*>(share.walk.a) - base_),
         .start = share.start,
         .accesses = workers[i].done,
         .seed = share.seed});
  }
  nlohmann::ordered_json evidence = region_evidence({region_}, walks);
  std::uint64_t walked = 0;
  std::uint64_t compared = 0;
  std::uint64_t written = 0;
  for (const Share& share : shares_) {
    walked += share.reached;
    compared += share.compared;
    written += share.written;
  }
  add_cpus(workers, spec_.threads, evidence);
  evidence["isa"] = isa_;
  if (spec_.writes > 0) {
    compared_.size = 0;
    for (const Share& share : shares_) compared_.size += share.walk.bytes;
    compared_.note(written, compared);
    evidence["verified"] = fmt::format("{}, all other lines as they were before", compared_.text());
  }
  ++compared_.repetitions;
  evidence["walked_bytes"] = walked;
  return evidence;
}

void verify_streams(Team& team, std::span<const StreamPart> parts,
                    std::span<const Worker> workers) {
  team.run([&](int thread) {
    const auto index = static_cast<std::size_t>(thread);
    for (const StreamPart& part : parts) {
      if (index < part.first || index >= part.first + part.threads) continue;
      part.stream->verify(index - part.first, workers[index]);
    }
  });
}

}  // namespace tierscope
