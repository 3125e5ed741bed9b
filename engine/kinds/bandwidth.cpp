// Bandwidth of a team of CPUs to placed memory.
#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <array>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "access/array_data.h"
#include "access/kernel.h"
#include "access/library.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/bandwidth_shares.h"
#include "kinds/bandwidth_spec.h"
#include "kinds/evidence.h"
#include "kinds/object_walk.h"
#include "kinds/window_sample.h"
#include "memory/placement.h"
#include "memory/rounds.h"
#include "memory/system_memory.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

// What a region holds, whoever filled it and however it was divided: the array that is written, or
// one of those that are only read.
enum class Contents { kWritten, kB, kC };

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
// non-temporal stores, below those that make a sample last long.
constexpr std::size_t kMaxCall = std::size_t{256} << 20;

class Bandwidth : public State {
 public:
  explicit Bandwidth(const BandwidthSpec& spec)
      : spec_(spec),
        threads_per_cpu_(threads_per_cpu(spec.threads)),
        shares_(spec.threads.size()),
        workers_(spec.threads.size()) {}

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
    for (const BandwidthShare& share : shares_) compared_.size += share.own.bytes;
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
    evidence = region_evidence(regions_, walked_shares(spec_, shares_, workers_), names);
    add_cpus(workers_, spec_.threads, evidence);
    if (is_library(spec_.operation)) {
      evidence["library"] = library_name();
    } else if (!spec_.by_objects()) {
      evidence["isa"] = isa_;
    }
    if (writes()) evidence["verified"] = verify();
    ++compared_.repetitions;
    if (spec_.order == Order::kZipf) count_zipf();
    evidence["walked_bytes"] = reached_bytes(spec_, shares_, workers_);
    if (spec_.order != Order::kSequential) {
      const Kernel addresses = find_address_kernel(isa_, spec_.order);
      team_->run([&](int thread) {
        if (thread == 0) evidence["address_ns"] = address_cost_ns(addresses, shares_[0].walk);
      });
    }
    evidence.update(counters);
  }

 private:
  double window_s() const { return window_seconds(spec_.sampling, threads_per_cpu_); }

  Kernel find_walk() const {
    if (is_library(spec_.operation)) return find_library_kernel(spec_.operation);
    if (spec_.narrow > 0) return find_narrow_kernel(isa_, spec_.operation, spec_.narrow);
    return find_kernel(isa_, spec_.operation, spec_.order);
  }

  void choose_kernel() {
    isa_ = resolve_isa(spec_.isa);
    const Kernel kernel = find_walk();
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
      BandwidthShare& share = shares_[i];
      share.zipf_reached = zipf_bytes(share.walk, share.seed, workers_[i].done);
    });
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
          const BandwidthShare& share = shares_[static_cast<std::size_t>(thread)];
          const std::array parts{share.own.a, share.own.b, share.own.c};
          const std::span part(parts.at(i), share.own.bytes / sizeof(double));
          contents == Contents::kB ? fill_b(part, share.own_first) : fill_c(part, share.own_first);
        });
      }
      *arrays[i].contents = contents;
    }
  }

  // All that the first repetition writes is compared; of further ones a sample at other places.
  ProofSample proof(const BandwidthShare& share) const {
    const std::uint64_t seed = compared_.repetitions;
    return seed == 0 ? ProofSample(share.own.bytes) : ProofSample(share.own.bytes, seed);
  }

  void overwrite_blocks() {
    team_->run([&](int thread) {
      const auto i = static_cast<std::size_t>(thread);
      overwrite(shares_[i].own, proof(shares_[i]));
      shares_[i].before = workers_[i].done;
    });
  }

  Sample take(bool write_allocate) {
    Sample sample = window_sample(*team_, workers_, window_s());
    const double per_unit = spec_.bytes_per_access() / window_s();
    const double bandwidth = units_in_window(workers_) * per_unit;
    sample.values.push_back(bandwidth);
    if (write_allocate) sample.values.push_back(bandwidth * bus_share());
    for (const Worker& worker : workers_)
      sample.values.push_back(worker.units_in_window * per_unit);
    return sample;
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
      BandwidthShare& share = shares_[i];
      const ProofSample sample = proof(share);
      share.compared = sample.bytes();
      share.written = verify_written(spec_.operation, share.own, share.own_first,
                                     workers_[i].done - share.before, sample);
    });
    std::uint64_t compared = 0;
    std::uint64_t written = 0;
    for (const BandwidthShare& share : shares_) {
      compared += share.compared;
      written += share.written;
    }
    compared_.note(written, compared);
    return fmt::format("{}, each element equal to {}", compared_.text(), spec_.traits().formula);
  }

  BandwidthSpec spec_;
  std::size_t threads_per_cpu_;
  std::string isa_;  // Empty: not chosen yet.
  Team* team_ = nullptr;
  std::vector<const Region*> regions_;  // Of this repetition.
  ObjectArrays objects_;                // Of those, in a pool whose ids are translated.
  // Where the first array was at the last repetition: to compare only, since it may be gone.
  const std::byte* base_ = nullptr;
  Compared compared_;
  std::deque<BandwidthShare> shares_;  // Workers point into it.
  std::vector<Worker> workers_;
  bool sized_ = false;
  std::unique_ptr<TrafficCheck> traffic_;
};

}  // namespace

MakeState parse_bandwidth(const ObjectReader& measurement) {
  return [spec = read_bandwidth(measurement)] { return std::make_unique<Bandwidth>(spec); };
}

}  // namespace tierscope
