// Core-to-core latency: one CPU's dependent loads of lines that another CPU touched last.
//
// A round: the writer stores to all lines, which its L2 cache can hold, in a new random order. For
// the state "clean" it then flushes them, which drops them from all caches, and loads each of them
// again. It passes the turn by a flag in a line of its own. The reader loads the lines, each one's
// address out of the one before it, between two readings of the timer, checks that each was as the
// writer left it in this round, and passes the turn back. A sample is a batch of rounds: the time
// that the loads took over the lines loaded, nothing subtracted (the timer is read once for all
// lines). That is how Intel's Memory Latency Checker describes its HITM and HIT transfers. Where
// the state is "modified", a second series lets both update one line in turn, as public
// core-to-core tools do.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "access/handed_lines.h"
#include "access/ticks.h"
#include "access/timed_chase.h"
#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "interrupt.h"
#include "kinds/evidence.h"
#include "kinds/window_sample.h"
#include "protocol/plan_parts.h"
#include "sampling/clock.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

enum class LineState { kModified, kClean };

struct CoreLatencySpec {
  int reader;
  int writer;
  Placement placement;  // Bind.
  SamplingRule sampling;
  std::size_t size;  // Whole slots.
  LineState state;
  Pages pages;
};

constexpr int kExchangeSamples = 4;
constexpr std::uint64_t kFirstTrips = 64;
constexpr int kReader = 0;  // Its thread in the team.

class CoreLatency : public State {
 public:
  explicit CoreLatency(const CoreLatencySpec& spec) : spec_(spec) {}

  void open(Leases& leases) override {
    if (spec_.state == LineState::kClean && !HandedLines::can_clean()) {
      throw Unavailable(Cause::kIsa, "this CPU has no instruction that drops a line from caches",
                        "measure --state modified");
    }
    team_ = &leases.team(std::array{spec_.reader, spec_.writer});
    const std::array key{RegionKey{spec_.size, spec_.pages, spec_.placement}};
    region_ = leases.regions(key, *team_).front().region;
    lines_ = std::make_unique<HandedLines>(std::span(region_->data(), spec_.size));
    const double wanted = window_seconds(spec_.sampling);
    if (rounds_per_sample_ == 0) {
      rounds_per_sample_ = 1;
      while (take_rounds().duration_s < wanted && !interrupted()) rounds_per_sample_ *= 2;
    }
    if (trips_per_sample_ == 0 && exchanges()) {
      trips_per_sample_ = kFirstTrips;
      while (take_exchanges().duration_s < wanted && !interrupted()) trips_per_sample_ *= 2;
    }
  }

  std::vector<Series> series() override {
    const std::vector<int> cpus{spec_.reader, spec_.writer};
    std::vector<Series> all{
        {.name = "rounds",
         .columns = {{.metric = "latency", .part = ""}},
         .take = [this] { return take_long(rounds_per_sample_, &Self::take_rounds); },
         .watched_cpus = cpus}};
    if (exchanges()) {
      all.push_back({.name = "exchanges",
                     .columns = {{.metric = "exchange_latency", .part = ""}},
                     .take = [this] { return take_long(trips_per_sample_, &Self::take_exchanges); },
                     .samples = kExchangeSamples,
                     .watched_cpus = cpus});
    }
    return all;
  }

  void observe(nlohmann::ordered_json& evidence) override {
    evidence = region_evidence({region_});
    evidence["cpus"] = last_cpus_;
    evidence["handovers"] = {{"lines", lines_->count()}, {"rounds", rounds_}};
    if (exchanges()) evidence["handovers"]["exchanges"] = exchanges_;
    evidence["verified"] =
        fmt::format("{} lines of {} rounds, each as its writer left it in that round",
                    rounds_ * lines_->count(), rounds_);
  }

 private:
  using Self = CoreLatency;

  bool exchanges() const { return spec_.state == LineState::kModified; }

  // The samples are too short where a stall, not the work, made one look long enough in open().
  Sample take_long(std::uint64_t& units, Sample (Self::*take)()) {
    Sample sample = (this->*take)();
    if (sample.duration_s < window_seconds(spec_.sampling) / 2) units *= 2;
    return sample;
  }

  // Runs read() on the reader and write() on the writer; the sample's time and values are read()'s.
  Sample in_turns(const std::function<Sample()>& read, const std::function<void()>& write) {
    Sample sample{};
    std::array<double, 2> lost_shares{};
    team_->run([&](int thread) {
      const LostTime lost;
      const double start = now_seconds();
      if (thread == kReader) {
        sample = read();
        sample.start_s = start;
      } else {
        write();
      }
      const auto index = static_cast<std::size_t>(thread);
      lost_shares[index] = lost.share();
      last_cpus_[index] = sched_getcpu();
    });
    sample.lost_share = std::ranges::max(lost_shares);
    return sample;
  }

  Sample take_rounds() {
    const std::uint64_t first = turns_ + 1;
    turns_ += rounds_per_sample_;
    const Sample sample = in_turns([this, first] { return read_rounds(first); },
                                   [this, first] { write_rounds(first); });
    rounds_ += rounds_per_sample_;
    if (stale_ > 0) {
      throw Failure(fmt::format("in {} of {} rounds the reader loaded lines that were not as the "
                                "writer had left them",
                                stale_, rounds_),
                    Cause::kVerification);
    }
    return sample;
  }

  void write_rounds(std::uint64_t first) {
    for (std::uint64_t round = first; round <= turns_; ++round) {
      stamp_ = lines_->store();
      if (spec_.state == LineState::kClean) lines_->clean();
      written_.reach(round);
      read_.wait_for(round);
    }
  }

  Sample read_rounds(std::uint64_t first) {
    std::uint64_t ticks = 0;
    const std::uint64_t count = lines_->count();
    for (std::uint64_t round = first; round <= turns_; ++round) {
      written_.wait_for(round);
      const HandedLine* const start = lines_->start();
      const std::uint64_t before = ticks_before();
      const Followed found = follow_lines(start, count);
      ticks += ticks_after() - before;
      if (!lines_->are_of(stamp_, found)) ++stale_;
      read_.reach(round);
    }
    const double ns = static_cast<double>(ticks) * timer_tick_ns();
    const auto loads = static_cast<double>(rounds_per_sample_ * count);
    return {.start_s = 0, .duration_s = ns / 1e9, .values = {ns / loads}};
  }

  // Half a round trip of the region's first line.
  Sample take_exchanges() {
    auto& word = *reinterpret_cast<std::uint64_t*>(region_->data());
    const std::uint64_t turn = ++turns_;
    const Sample sample = in_turns(
        [this, &word, turn] {
          written_.wait_for(turn);
          const std::uint64_t before = ticks_before();
          exchange_word(word, trips_per_sample_, true);
          const double ns = static_cast<double>(ticks_after() - before) * timer_tick_ns();
          return Sample{.start_s = 0,
                        .duration_s = ns / 1e9,
                        .values = {ns / static_cast<double>(2 * trips_per_sample_)}};
        },
        [this, &word, turn] {
          word = 0;
          written_.reach(turn);
          exchange_word(word, trips_per_sample_, false);
        });
    exchanges_ += trips_per_sample_;
    return sample;
  }

  CoreLatencySpec spec_;
  Team* team_ = nullptr;
  const Region* region_ = nullptr;
  std::unique_ptr<HandedLines> lines_;
  Turn written_;
  Turn read_;
  std::uint64_t stamp_ = 0;  // Of the round that was written last; read after written_ is reached.
  std::uint64_t turns_ = 0;
  std::uint64_t rounds_per_sample_ = 0;  // 0: not sized yet.
  std::uint64_t trips_per_sample_ = 0;
  std::uint64_t rounds_ = 0;
  std::uint64_t exchanges_ = 0;  // Round trips.
  std::uint64_t stale_ = 0;      // Rounds that did not verify.
  std::array<int, 2> last_cpus_{-1, -1};
};

}  // namespace

MakeState parse_core_latency(const ObjectReader& measurement) {
  static constexpr std::array<std::pair<std::string_view, LineState>, 2> kStates{
      {{"modified", LineState::kModified}, {"clean", LineState::kClean}}};
  CoreLatencySpec spec{};
  spec.reader = measurement.integer<int>("cpu");
  spec.writer = measurement.integer<int>("writer");
  spec.placement = read_placement(measurement, "placement");
  spec.sampling = read_sampling(measurement);
  const ObjectReader pattern = measurement.object("pattern");
  spec.size = pattern.bytes("size");
  spec.state = pattern.choice("state", kStates);
  spec.pages = read_pages(pattern);
  return [spec] { return std::make_unique<CoreLatency>(spec); };
}

}  // namespace tierscope
