// Bandwidth of a team of CPUs to placed memory.
#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <array>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "access/array_data.h"
#include "access/kernel.h"
#include "access/library.h"
#include "access/zipf_order.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/bandwidth_spec.h"
#include "kinds/evidence.h"
#include "kinds/node_traffic.h"
#include "kinds/object_walk.h"
#include "kinds/window_row.h"
#include "memory/placement.h"
#include "memory/rounds.h"
#include "memory/system_memory.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

// What a region holds, whoever filled it and however it was divided: the array that is written, or
// one of those that are only read.
enum class Contents { kWritten, kB, kC };

// A thread's part of the arrays.
struct Share {
  Walk walk;
  // What the thread fills and verifies: where it walks, unless all of them walk everywhere.
  Walk own;
  std::size_t first = 0;    // Where the walk begins in the arrays.
  std::uint64_t start = 0;  // Offset of its first access.
  Position position;
  std::uint64_t seed = 0;          // The position's first state.
  std::optional<ZipfOrder> zipf;   // What the walk has,
  std::uint64_t zipf_reached = 0;  // and the bytes that it reached at least.
  std::size_t own_first = 0;       // Of `own`: the number of its first element in the arrays.
  std::uint64_t before = 0;        // Accesses when the blocks of the proof were overwritten.
  std::uint64_t compared = 0;      // Bytes.
  std::uint64_t written = 0;       // Those of them that hold what was written.
};

Walk walk_of(const BandwidthSpec& spec, const std::vector<Lease>& arrays, const ByteRange& range) {
  const auto at = [&](std::size_t array) {
    return array < arrays.size()
               ? reinterpret_cast<double*>(arrays[array].region->data() + range.first)
               : nullptr;
  };
  return {.a = at(0),
          .b = at(1),
          .c = at(2),
          .scalar = kWrittenScalar,
          .bytes = range.last - range.first,
          .access_size = spec.access_size,
          .stride = spec.stride};
}

void divide(const BandwidthSpec& spec, const std::vector<Lease>& arrays,
            std::deque<Share>& shares) {
  const std::size_t grain =
      spec.shared ? kFillPeriod : share_grain(spec.pages, spec.placements, spec.access_size);
  std::vector<ByteRange> cut = cut_into_shares(spec.size, grain, shares.size());
  if (spec.shared) cut.back().last = spec.size;  // The rest is walked, too.
  const ByteRange all{0, spec.size / spec.access_size * spec.access_size};
  for (std::size_t thread = 0; thread < shares.size(); ++thread) {
    Share& share = shares[thread];
    share.own = walk_of(spec, arrays, cut[thread]);
    share.walk = spec.shared ? walk_of(spec, arrays, all) : share.own;
    share.first = spec.shared ? 0 : cut[thread].first;
    const bool spread =
        spec.shared || std::ranges::any_of(spec.placements, [](const Placement& placement) {
          return round_pages(placement) > 1;
        });
    share.start = spread ? spread_start(share.walk, spec.order, thread, shares.size()) : 0;
    share.own_first = cut[thread].first / sizeof(double);
    if (spec.order == Order::kZipf) {
      share.walk.zipf = &share.zipf.emplace(share.walk.accesses(), spec.zipf_alpha);
    }
  }
}

// Time that `kernel`, a loop without its accesses, takes for one address, in ns: the least of a
// few, so that a disturbance does not make it look dear.
double address_cost_ns(Kernel kernel, const Walk& walk) {
  constexpr std::uint64_t kAddresses = 1U << 15;
  constexpr int kRepetitions = 7;
  Position position;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRepetitions; ++i) {
    const double start = now_seconds();
    kernel(walk, position, kAddresses);
    least = std::min(least, now_seconds() - start);
  }
  return least * 1e9 / static_cast<double>(kAddresses);
}

// Bytes of one call of the C library's functions at most: above the sizes from which on they use
// non-temporal stores, below those that make a row last long.
constexpr std::size_t kMaxCall = std::size_t{256} << 20;

class Bandwidth : public State {
 public:
  explicit Bandwidth(const BandwidthSpec& spec)
      : spec_(spec), shares_(spec.threads.size()), workers_(spec.threads.size()) {}

  void open(Leases& leases) override {
    if (workers_.front().work == nullptr) choose_kernel();
    team_ = &leases.team(spec_.threads);
    spec_.size = in_whole_rounds(
        spec_.size, spec_.pages, spec_.placements,
        {.shares = spec_.shared ? 1 : spec_.threads.size(), .access_size = spec_.access_size});
    const std::vector<RegionKey> keys = array_keys(spec_);
    const std::vector<Lease> arrays =
        leases.regions(keys, *team_, [this](std::size_t array, const std::any& found) {
          return holds(found, contents_of(array));
        });
    regions_.clear();
    objects_.clear();
    for (const Lease& array : arrays) {
      regions_.push_back(array.region);
      if (spec_.by_objects()) objects_.push_back(array.region->persistent()->array());
    }
    divide(spec_, arrays, shares_);
    compared_.size = 0;
    for (const Share& share : shares_) compared_.size += share.own.bytes;
    if (arrays.front().is_new || base_ != regions_.front()->data()) start_anew();
    base_ = regions_.front()->data();
    fill_arrays(arrays);
    if (writes()) overwrite_blocks();
    if (!sized_) size_calls();
    if (!sized_) size_chunks(*team_, workers_, window_s());
    sized_ = true;
    traffic_ = std::make_unique<TrafficCheck>(moved());
  }

  std::vector<Series> series() override {
    const OperationTraits& traits = spec_.traits();
    const std::size_t bytes = spec_.size * static_cast<std::size_t>(traits.arrays);
    const bool write_allocate =
        traits.bus_bytes > traits.program_bytes && bytes > last_level_cache_bytes(spec_.cpus);
    std::vector<Column> columns{{.metric = "bandwidth", .part = ""}};
    if (write_allocate) columns.push_back({.metric = "bandwidth_with_write_allocate", .part = ""});
    for (std::size_t thread = 0; thread < workers_.size(); ++thread) {
      columns.push_back({.metric = "thread_bandwidth", .part = std::to_string(thread)});
    }
    return {{.name = "windows",
             .columns = std::move(columns),
             .take = [this, write_allocate] { return take(write_allocate); },
             .watched_cpus = spec_.cpus}};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    const Moved all = moved();
    nlohmann::ordered_json counters = nlohmann::ordered_json::object();
    traffic_->report(all, counters);
    static constexpr std::array<std::string_view, 3> kNames{"a", "b", "c"};
    const std::span names(kNames.data(), spec_.apart ? regions_.size() : 0);
    evidence = region_evidence(regions_, walks(), names);
    add_cpus(workers_, spec_.threads, evidence);
    if (is_library(spec_.operation)) {
      evidence["library"] = library_name();
    } else if (!spec_.by_objects()) {
      evidence["isa"] = isa_;
    }
    if (writes()) evidence["verified"] = verify();
    ++compared_.visits;
    if (spec_.order == Order::kZipf) count_zipf();
    evidence["walked_bytes"] = walked();
    if (spec_.order != Order::kSequential) {
      const Kernel addresses = find_address_kernel(isa_, spec_.order);
      team_->run([&](int thread) {
        if (thread == 0) evidence["address_ns"] = address_cost_ns(addresses, shares_[0].walk);
      });
    }
    evidence.update(counters);
  }

 private:
  double window_s() const { return window_seconds(spec_.sampling, spec_.threads); }

  void choose_kernel() {
    isa_ = resolve_isa(spec_.isa);
    const Kernel kernel = is_library(spec_.operation)
                              ? find_library_kernel(spec_.operation)
                              : find_kernel(isa_, spec_.operation, spec_.order);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].work = [this, kernel, &share = shares_[i]](std::uint64_t accesses) {
        if (!spec_.by_objects()) return kernel(share.walk, share.position, accesses);
        walk_objects(spec_.operation, objects_, share.first, share.walk, share.position, accesses);
      };
    }
  }

  // A chunk is one call of the C library's function, over a thread's share unless that is too long.
  void size_calls() {
    if (!is_library(spec_.operation)) return;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].chunk = std::min(shares_[i].walk.bytes, kMaxCall) / spec_.access_size;
    }
  }

  // All walks begin; nothing is done yet.
  void start_anew() {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      shares_[i].seed = i * 0x9e3779b97f4a7c15ULL;  // Not in step with another.
      shares_[i].position = {.offset = shares_[i].start, .state = shares_[i].seed};
      workers_[i].done = 0;
    }
  }

  void count_zipf() {
    team_->run([&](int thread) {
      const auto i = static_cast<std::size_t>(thread);
      Share& share = shares_[i];
      share.zipf_reached = zipf_bytes(share.walk, share.seed, workers_[i].done);
    });
  }

  // Distinct bytes of an array that the threads reached at least. Those that share it begin evenly
  // spread over it; the way to where the next one began is what each has for itself.
  std::uint64_t walked() const {
    const bool in_order = spec_.order == Order::kSequential || spec_.order == Order::kReverse;
    std::uint64_t sum = 0;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      const Walk& walk = shares_[i].walk;
      const std::uint64_t one = shares_[i].zipf ? shares_[i].zipf_reached
                                                : walked_bytes(spec_.order, walk, workers_[i].done);
      const std::uint64_t way = walk.accesses() / shares_.size() * walk.access_size;
      sum += spec_.shared ? std::min(one, way) : one;
      most = std::max(most, one);
    }
    if (!spec_.shared) return sum;
    return in_order ? std::max(sum, most) : most;
  }

  std::vector<WalkedShare> walks() const {
    const OperationTraits& traits = spec_.traits();
    std::vector<WalkedShare> found;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      found.push_back({.walk = shares_[i].walk,
                       .order = spec_.order,
                       .first = shares_[i].first,
                       .start = shares_[i].start,
                       .accesses = workers_[i].done,
                       .counted = static_cast<double>(traits.program_bytes) / traits.arrays,
                       .seed = shares_[i].seed});
    }
    return found;
  }

  bool writes() const { return spec_.operation != Operation::kRead; }

  Contents contents_of(std::size_t array) const {
    static constexpr std::array kContents{Contents::kWritten, Contents::kB, Contents::kC};
    return writes() ? kContents.at(array) : Contents::kB;
  }

  static bool holds(const std::any& found, Contents contents) {
    const auto* const held = std::any_cast<Contents>(&found);
    return held != nullptr && *held == contents;
  }

  // Arrays that are only read stay as they are, whoever reads them: filling one anew would take
  // longer than reading it.
  void fill_arrays(const std::vector<Lease>& arrays) {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const Contents contents = contents_of(i);
      if (contents != Contents::kWritten && !holds(arrays[i].found, contents)) {
        team_->run([&](int thread) {
          const Share& share = shares_[static_cast<std::size_t>(thread)];
          const std::array parts{share.own.a, share.own.b, share.own.c};
          const std::span part(parts.at(i), share.own.bytes / sizeof(double));
          contents == Contents::kB ? fill_b(part, share.own_first) : fill_c(part, share.own_first);
        });
      }
      *arrays[i].contents = contents;
    }
  }

  // All that the first visit writes is compared; of further ones a sample at other places.
  ProofSample proof(const Share& share) const {
    const std::uint64_t seed = compared_.visits;
    return seed == 0 ? ProofSample(share.own.bytes) : ProofSample(share.own.bytes, seed);
  }

  void overwrite_blocks() {
    team_->run([&](int thread) {
      const auto i = static_cast<std::size_t>(thread);
      overwrite(shares_[i].own, proof(shares_[i]));
      shares_[i].before = workers_[i].done;
    });
  }

  Row take(bool write_allocate) {
    Row row = window_row(*team_, workers_, window_s());
    const double per_unit = spec_.bytes_per_access() / window_s();
    const double bandwidth = units_in_window(workers_) * per_unit;
    row.values.push_back(bandwidth);
    if (write_allocate) row.values.push_back(bandwidth * bus_share());
    for (const Worker& worker : workers_) row.values.push_back(worker.units_in_window * per_unit);
    return row;
  }

  // Bytes on the bus for each byte that the program asked to move; 0: unknown.
  double bus_share() const {
    return static_cast<double>(spec_.traits().bus_bytes) / spec_.traits().program_bytes;
  }

  Moved moved() const {
    double accesses = 0;
    for (const Worker& worker : workers_) accesses += static_cast<double>(worker.done);
    const double bytes = accesses * spec_.bytes_per_access();
    if (bus_share() == 0) return {.program_bytes = bytes, .bus_bytes = std::nullopt};
    return {.program_bytes = bytes, .bus_bytes = bytes * bus_share()};
  }

  std::string verify() {
    team_->run([&](int thread) {
      const auto i = static_cast<std::size_t>(thread);
      Share& share = shares_[i];
      const ProofSample sample = proof(share);
      share.compared = sample.bytes();
      share.written = verify_written(spec_.operation, share.own, share.own_first,
                                     workers_[i].done - share.before, sample);
    });
    std::uint64_t compared = 0;
    std::uint64_t written = 0;
    for (const Share& share : shares_) {
      compared += share.compared;
      written += share.written;
    }
    compared_.note(written, compared);
    return fmt::format("{}, each element equal to {}", compared_.text(), spec_.traits().formula);
  }

  BandwidthSpec spec_;
  std::string isa_;  // Empty: not chosen yet.
  Team* team_ = nullptr;
  std::vector<const Region*> regions_;  // Of this visit.
  ObjectArrays objects_;                // Of those, in a pool whose ids are translated.
  // Where the first array was at the last visit: to compare only, since it may be gone.
  const std::byte* base_ = nullptr;
  Compared compared_;
  std::deque<Share> shares_;  // Workers point into it.
  std::vector<Worker> workers_;
  bool sized_ = false;
  std::unique_ptr<TrafficCheck> traffic_;
};

}  // namespace

MakeState parse_bandwidth(ObjectReader& measurement) {
  return [spec = read_bandwidth(measurement)] { return std::make_unique<Bandwidth>(spec); };
}

}  // namespace tierscope
