// Atomic updates a second: each thread on lines of its own, or all on the same ones.
#include "access/atomics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <numeric>

#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/evidence.h"
#include "kinds/window_sample.h"
#include "memory/rounds.h"
#include "protocol/constants.h"
#include "protocol/plan_parts.h"
#include "sizes.h"

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

void divide(const AtomicsSpec& spec, std::byte* base, std::deque<Share>& shares) {
  const std::size_t grain = share_grain(spec.pages, spec.placement, kCacheLine);
  const std::vector<ByteRange> cut = cut_into_shares(spec.size, grain, shares.size());
  for (std::size_t thread = 0; thread < shares.size(); ++thread) {
    const ByteRange range = spec.shared ? ByteRange{0, spec.size} : cut[thread];
    shares[thread] = {.base = base + range.first,
                      .lines = (range.last - range.first) / kCacheLine,
                      .state = thread * 0x9e3779b97f4a7c15ULL};
  }
}

class Atomics : public State {
 public:
  explicit Atomics(const AtomicsSpec& spec) : spec_(spec), shares_(spec.cpus.size()) {
    const auto update = spec_.operation == Atomic::kFetchAndAdd
                            ? update_counters<Atomic::kFetchAndAdd>
                            : update_counters<Atomic::kCompareAndSwap>;
    for (Share& share : shares_) {
      workers_.push_back({.work = [update, &share](std::uint64_t count) {
        share.tries += update(share.base, share.lines, share.state, count);
      }});
    }
  }

  void open(Leases& leases) override {
    team_ = &leases.team(spec_.cpus);
    spec_.size = in_whole_rounds(
        spec_.size, spec_.pages, spec_.placement,
        {.shares = spec_.shared ? 1 : spec_.cpus.size(), .access_size = kCacheLine});
    const std::array keys{RegionKey{spec_.size, spec_.pages, spec_.placement}};
    const Lease lease = leases.regions(keys, *team_).front();
    region_ = lease.region;
    const auto* const found = std::any_cast<std::shared_ptr<const int>>(&lease.found);
    if (cleared_ == nullptr || found == nullptr || *found != cleared_) clear();
    *lease.contents = cleared_;
    if (!sized_) size_chunks(*team_, workers_, window_s());
    sized_ = true;
  }

  std::vector<Series> series() override {
    return {{.name = "windows",
             .columns = {{.metric = "updates", .part = ""},
                         {.metric = "time_per_update", .part = ""},
                         {.metric = "tries_per_update", .part = ""}},
             .take = [this] { return take(); },
             .watched_cpus = spec_.cpus}};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    std::vector<WalkedShare> walks;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      walks.push_back({.walk = {.bytes = shares_[i].lines * kCacheLine, .access_size = kCacheLine},
                       .order = Order::kRandom,
                       .first = static_cast<std::size_t>(shares_[i].base - region_->data()),
                       .accesses = workers_[i].done,
                       .counted = double{sizeof(std::uint64_t)} / kCacheLine});
    }
    evidence = region_evidence({region_}, walks);
    evidence["cpus"] = cpus_of(workers_);
    evidence["verified"] = verify();
  }

 private:
  double window_s() const { return window_seconds(spec_.sampling); }

  // All counters are zero, and no update was made.
  void clear() {
    const std::size_t threads = workers_.size();
    team_->run([&](int thread) {
      const std::size_t first = spec_.size / threads * static_cast<std::size_t>(thread);
      const bool last = static_cast<std::size_t>(thread) + 1 == threads;
      std::fill_n(region_->data() + first, last ? spec_.size - first : spec_.size / threads,
                  std::byte{0});
    });
    divide(spec_, region_->data(), shares_);
    for (Worker& worker : workers_) worker.done = 0;
    cleared_ = std::make_shared<const int>();
  }

  Sample take() {
    std::uint64_t done_before = 0;
    for (const Worker& worker : workers_) done_before += worker.done;
    const std::uint64_t tries_before = tries();
    Sample sample = window_sample(*team_, workers_, window_s());
    std::uint64_t done = 0;
    for (const Worker& worker : workers_) done += worker.done;
    const double updates = units_in_window(workers_) / window_s();
    const auto threads = static_cast<double>(workers_.size());
    sample.values = {
        updates, threads * 1e9 / updates,
        static_cast<double>(tries() - tries_before) / static_cast<double>(done - done_before)};
    return sample;
  }

  std::uint64_t tries() const {
    std::uint64_t sum = 0;
    for (const Share& share : shares_) sum += share.tries;
    return sum;
  }

  // The counters have to hold as many updates as were made; throws Failure otherwise.
  std::string verify() const {
    std::uint64_t made = 0;
    for (const Worker& worker : workers_) made += worker.done;
    std::vector<std::uint64_t> held(workers_.size());
    team_->run([&](int thread) {
      const auto index = static_cast<std::size_t>(thread);
      const std::size_t lines = spec_.size / kCacheLine;
      const std::size_t end = lines * (index + 1) / held.size();
      std::uint64_t sum = 0;
      for (std::size_t line = lines * index / held.size(); line < end; ++line) {
        sum += *reinterpret_cast<const std::uint64_t*>(region_->data() + line * kCacheLine);
      }
      held[index] = sum;
    });
    const std::uint64_t counted = std::accumulate(held.begin(), held.end(), std::uint64_t{0});
    if (counted != made) {
      throw Failure(fmt::format("the counters hold {} updates where {} were made", counted, made),
                    Cause::kVerification);
    }
    return fmt::format("the counters' sum is the {} updates made", made);
  }

  AtomicsSpec spec_;
  std::deque<Share> shares_;  // Workers point into it.
  std::vector<Worker> workers_;
  Team* team_ = nullptr;
  const Region* region_ = nullptr;
  std::shared_ptr<const int> cleared_;  // Marks the counters that this measurement cleared last.
  bool sized_ = false;
};

}  // namespace

MakeState parse_atomics(const ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, Atomic>, 2> kUpdates{
      {{"fetch-and-add", Atomic::kFetchAndAdd}, {"compare-and-swap", Atomic::kCompareAndSwap}}};
  AtomicsSpec spec{};
  spec.cpus = measurement.integers("cpus");
  spec.placement = read_placement(measurement, "placement");
  spec.sampling = read_sampling(measurement);
  const ObjectReader pattern = measurement.object("pattern");
  spec.operation = pattern.choice("operation", kUpdates);
  spec.shared = pattern.boolean("shared");
  spec.size = pattern.bytes("size");
  spec.pages = read_pages(pattern);
  measurement.check(tables::kAtomicsSpecPatternSize,
                    spec.shared || spec.size / kCacheLine >= spec.cpus.size());
  return [spec] { return std::make_unique<Atomics>(spec); };
}

}  // namespace tierscope
