// Chains of dependent reads and writes: the time that a chain takes where chains depend on each
// other, and how many end a second where they overlap.
#include "access/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <array>
#include <memory>
#include <numeric>
#include <string_view>

#include "access/block_writes.h"
#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/chain_spec.h"
#include "kinds/evidence.h"
#include "kinds/window_sample.h"
#include "memory/rounds.h"
#include "sizes.h"
#include "splitmix64.h"

namespace tierscope {
namespace {

// Of the lines, the rounds and the written words, the first repetition compares all lines and one
// round in so many; further repetitions one line in so many, too.
constexpr std::uint64_t kCompareStep = 64;

// What a region holds: the lines of this number, and who wrote on them; nobody where that is null.
struct Lines {
  std::size_t number;
  std::shared_ptr<const int> writer;
};

// The walks of one thread, and where they stood when they were compared last.
struct ThreadWalks {
  std::vector<ChainWalk> walks;
  std::vector<ChainWalk> replayed;
  std::uint64_t rounds = 0;
  std::uint64_t replayed_rounds = 0;
  Histogram durations;
  TimedRounds timed;
};

class ChainKind : public State {
 public:
  explicit ChainKind(const ChainSpec& spec)
      : spec_(spec),
        threads_per_cpu_(threads_per_cpu(spec.threads)),
        writer_(std::make_shared<const int>()),
        threads_(spec.threads.size()) {
    std::uint64_t seed = 0;
    for (ThreadWalks& thread : threads_) {
      thread.walks.resize(spec.interleave);
      for (ChainWalk& walk : thread.walks) walk.random = splitmix64(seed);
    }
  }

  void open(Leases& leases) override {
    require_instructions(spec_.operations);
    team_ = &leases.team(spec_.threads);
    std::vector<RegionKey> keys;
    for (std::size_t number = 0; number < spec_.placements.size(); ++number) {
      keys.push_back(key(number));
    }
    const std::vector<Lease> found = leases.regions(
        keys, *team_,
        [this](std::size_t number, const std::any& contents) { return holds(number, contents); });
    regions_.clear();
    std::vector<ChainRegion> regions;
    for (std::size_t number = 0; number < found.size(); ++number) {
      const std::size_t bytes = keys[number].bytes;
      fill(found[number], number, bytes);
      regions_.push_back(found[number].region);
      regions.push_back({.base = found[number].region->data(), .bytes = bytes});
    }
    chain_ = lay_chain(spec_.operations, spec_.linked, regions);
    chain_.timed_from = spec_.timed_from;
    for (ThreadWalks& thread : threads_) {
      thread.replayed = thread.walks;
      thread.replayed_rounds = thread.rounds;
    }
    if (running_.empty()) make_workers();
    timer_ns_ = write_timer_ns();
  }

  std::vector<Series> series() override {
    std::vector<Column> columns{{.metric = "operations", .part = ""},
                                {.metric = "bandwidth", .part = ""}};
    if (times_whole_chains()) columns.insert(columns.begin(), {.metric = "latency", .part = ""});
    Series windows{.name = "windows",
                   .columns = std::move(columns),
                   .take = [this] { return take(running_); },
                   .watched_cpus = spec_.cpus};
    Series timed{.name = "timed",
                 .columns = {{.metric = spec_.linked ? "latency" : "operations", .part = "timed"}},
                 .take = [this] { return take_timed(); },
                 .watched_cpus = spec_.cpus,
                 .distributions = {{.metric = "chain_latency", .part = ""}}};
    if (spec_.timed_from == 0) return {std::move(windows), std::move(timed)};
    timed.columns.front().part = "";  // The latency asked for: that of a part of the chain.
    return {std::move(timed), std::move(windows)};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    static constexpr std::array<std::string_view, 2> kNames{"m0", "m1"};
    const bool apart = regions_.size() > 1;
    evidence = apart ? region_evidence(regions_, {}, kNames) : region_evidence(regions_, walked());
    add_cpus(running_, spec_.threads, evidence);
    evidence["timer_ns"] = timer_ns_;
    team_->run([&](int thread) {
      if (thread == 0) address_ns_ = chain_address_ns(chain_);
    });
    evidence["address_ns"] = address_ns_ / static_cast<double>(chain_.picks());
    evidence["verified"] = verify();
  }

 private:
  // Whether the time of a chain follows from how many end in a window.
  bool times_whole_chains() const { return spec_.linked && spec_.timed_from == 0; }

  double window_s() const { return window_seconds(spec_.sampling, threads_per_cpu_); }

  // Of the region of this number, cut to whole rounds of its placement.
  RegionKey key(std::size_t number) const {
    const std::size_t asked = spec_.sizes[number];
    const Placement& placement = spec_.placements[number];
    const std::size_t bytes =
        in_whole_rounds(asked, spec_.pages, placement, {.shares = 1, .access_size = kCacheLine});
    const std::size_t least = chain_reach(spec_.operations, number);
    if (bytes >= least) return {bytes, spec_.pages, placement};
    throw Unavailable(
        Cause::kMemory,
        fmt::format("{} bytes, cut to whole rounds of pages, are less than the {} bytes that the "
                    "chain's operations reach over",
                    asked, least),
        "ask for a larger --size");
  }

  // Lines that another measurement wrote on would not tell what this one wrote.
  bool holds(std::size_t number, const std::any& contents) const {
    const auto* const lines = std::any_cast<Lines>(&contents);
    if (lines == nullptr || lines->number != number) return false;
    return !spec_.writes() || lines->writer == nullptr || lines->writer == writer_;
  }

  void fill(const Lease& lease, std::size_t number, std::size_t bytes) {
    Lines lines{.number = number, .writer = nullptr};
    if (holds(number, lease.found)) {
      lines = *std::any_cast<Lines>(&lease.found);
    } else {
      over_lines(bytes, [&](std::size_t first, std::size_t count) {
        fill_lines(lease.region->data(), number, first, count);
      });
      compared_all_ = false;
    }
    if (spec_.writes()) lines.writer = writer_;
    *lease.contents = lines;
  }

  // Calls `work` with each thread's part of the lines of a region.
  template <typename Work>
  void over_lines(std::size_t bytes, const Work& work) {
    const std::vector<ByteRange> parts = cut_into_shares(bytes, kCacheLine, threads_.size());
    team_->run([&](int thread) {
      const auto [first, last] = parts[static_cast<std::size_t>(thread)];
      work(first / kCacheLine, (last - first) / kCacheLine);
    });
  }

  void make_workers() {
    for (ThreadWalks& thread : threads_) {
      running_.push_back({.work = [this, &thread](std::uint64_t rounds) {
        run_chains(chain_, thread.walks, rounds);
        thread.rounds += rounds;
      }});
      timing_.push_back({.work = [this, &thread](std::uint64_t rounds) {
        const TimedRounds timed =
            time_chains(chain_, thread.walks, rounds, spec_.sample_every, thread.durations);
        thread.timed.rounds += timed.rounds;
        thread.timed.ns += timed.ns;
        thread.rounds += rounds;
      }});
      timing_.back().chunk = spec_.sample_every;
    }
    size_chunks(*team_, running_, window_s());
    size_chunks(*team_, timing_, window_s());
  }

  // The time of a chain, each of which waits for the one before it in its own walk; chains and
  // bytes a second of all walks.
  Sample take(std::vector<Worker>& workers) {
    Sample sample = window_sample(*team_, workers, window_s());
    const double chains = units_in_window(workers) * static_cast<double>(spec_.interleave);
    const auto walks = static_cast<double>(workers.size() * spec_.interleave);
    if (times_whole_chains()) sample.values.push_back(window_s() * 1e9 * walks / chains);
    sample.values.push_back(chains / window_s());
    sample.values.push_back(sample.values.back() * static_cast<double>(chain_.bytes()));
    return sample;
  }

  Sample take_timed() {
    for (ThreadWalks& thread : threads_) {
      thread.durations.clear();
      thread.timed = {};
    }
    Sample sample = take(timing_);
    sample.values.resize(1);
    if (spec_.timed_from > 0) sample.values.front() = timed_latency();
    for (std::size_t i = 1; i < threads_.size(); ++i) {
      threads_.front().durations.add(threads_[i].durations);
    }
    sample.histograms = {threads_.front().durations.counts()};
    return sample;
  }

  // Mean ns of the timed part of a chain, less the timer's own.
  double timed_latency() const {
    TimedRounds all;
    for (const ThreadWalks& thread : threads_) {
      all.rounds += thread.timed.rounds;
      all.ns += thread.timed.ns;
    }
    return all.ns / static_cast<double>(all.rounds) - timer_ns_;
  }

  // What the threads moved of the only region: any line of it is as likely as another.
  std::vector<WalkedShare> walked() const {
    std::uint64_t chains = 0;
    for (const ThreadWalks& thread : threads_) chains += thread.rounds * spec_.interleave;
    const double bytes = static_cast<double>(chains) * static_cast<double>(chain_.bytes());
    return {{.walk = {.bytes = regions_.front()->size(), .access_size = kCacheLine},
             .order = Order::kRandom,
             .accesses = static_cast<std::uint64_t>(bytes / kCacheLine)}};
  }

  // The rounds of this repetition are made again over the known contents, and the regions hold
  // these.
  std::string verify() {
    std::vector<std::uint64_t> bytes(threads_.size());
    team_->run([&](int number) {
      const auto index = static_cast<std::size_t>(number);
      ThreadWalks& thread = threads_[index];
      bytes[index] = replay_chains(chain_, thread.replayed, thread.rounds - thread.replayed_rounds,
                                   kCompareStep);
      compare_walks(thread.walks, thread.replayed);
    });
    const std::size_t step = compared_all_ ? kCompareStep : 1;
    for (std::size_t number = 0; number < regions_.size(); ++number) {
      over_lines(regions_[number]->size(), [&](std::size_t first, std::size_t count) {
        compare_lines(regions_[number]->data(), number, first, count, step);
      });
    }
    compared_all_ = true;
    std::uint64_t rounds = 0;
    for (const ThreadWalks& thread : threads_) rounds += thread.rounds - thread.replayed_rounds;
    std::string said = fmt::format(
        "{} chains end where their replay over the known contents ends, with the same sum of the "
        "words read; {} of the lines as known",
        rounds * spec_.interleave, step == 1 ? "all" : "one in 64");
    if (!spec_.writes()) return said;
    return said + fmt::format("; {} bytes looked at of what one in 64 chains wrote",
                              std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}));
  }

  ChainSpec spec_;
  std::size_t threads_per_cpu_;
  std::shared_ptr<const int> writer_;  // Marks regions that this measurement wrote on.
  std::vector<ThreadWalks> threads_;   // Workers point into it.
  std::vector<Worker> running_;
  std::vector<Worker> timing_;
  Chain chain_;
  Team* team_ = nullptr;
  std::vector<const Region*> regions_;  // Of this repetition.
  double address_ns_ = 0;
  double timer_ns_ = 0;
  bool compared_all_ = false;
};

}  // namespace

MakeState parse_chain(const ObjectReader& measurement) {
  return [spec = read_chain_spec(measurement)] { return std::make_unique<ChainKind>(spec); };
}

}  // namespace tierscope
