// Idle latency: one CPU's dependent loads through a cycle over placed memory, by one chase, or by
// several at once, whose loads overlap.
#include <sched.h>

#include <array>
#include <utility>
#include <vector>

#include "harness/kind.h"
#include "harness/leases.h"
#include "interrupt.h"
#include "kinds/chase_pattern.h"
#include "kinds/evidence.h"
#include "kinds/window_sample.h"
#include "protocol/constants.h"
#include "protocol/plan_parts.h"
#include "sampling/clock.h"
#include "sizes.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

struct LatencySpec {
  int cpu;
  Placement placement;
  SamplingRule sampling;
  ChasePattern pattern;
  std::size_t chases;
};

class Latency : public State {
 public:
  explicit Latency(const LatencySpec& spec) : spec_(spec), walk_(spec.chases) {}

  void open(Leases& leases) override {
    team_ = &leases.team(std::array{spec_.cpu});
    const std::array key{spec_.pattern.key(spec_.placement)};
    const Lease lease = leases
                            .regions(key, *team_,
                                     [this](std::size_t, const std::any& contents) {
                                       return is_linked(spec_.pattern, contents);
                                     })
                            .front();
    region_ = lease.region;
    spec_.pattern.size = region_->size();
    const double wanted = window_seconds(spec_.sampling);
    team_->run([&](int) {
      link_walk(spec_.pattern, lease, walk_);
      if (loads_per_sample_ != 0) return;
      loads_per_sample_ = kChaseUnroll;
      while (follow().duration_s < wanted && !interrupted()) loads_per_sample_ *= 2;
    });
  }

  std::vector<Series> series() override {
    std::vector<Column> columns{{.metric = "latency", .part = ""}};
    if (spec_.chases > 1) {
      columns.push_back({.metric = "time_per_load", .part = ""});
      columns.push_back({.metric = "bandwidth", .part = ""});
    }
    return {{.name = "loads",
             .columns = std::move(columns),
             .take = [this] { return take(); },
             .watched_cpus = {spec_.cpu}}};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    evidence = region_evidence({region_});
    evidence["cpus"] = {last_cpu_};
    evidence["walked_bytes"] = chased_bytes(spec_.pattern, walk_.loads);
  }

 private:
  // Follows the links of one sample: a load's latency, and where several chases overlap, the time
  // that each of all their loads adds and the bytes of lines that they bring.
  Sample follow() {
    const LostTime lost;
    const double start = now_seconds();
    follow_chases(walk_.at, loads_per_sample_);
    const double seconds = now_seconds() - start;
    const std::uint64_t loads = loads_per_sample_ * spec_.chases;
    walk_.loads += loads;
    Sample sample{.start_s = start,
                  .duration_s = seconds,
                  .values = {seconds * 1e9 / static_cast<double>(loads_per_sample_)},
                  .lost_share = lost.share()};
    if (spec_.chases > 1) {
      sample.values.push_back(seconds * 1e9 / static_cast<double>(loads));
      sample.values.push_back(static_cast<double>(loads) * kCacheLine / seconds);
    }
    return sample;
  }

  Sample take() {
    Sample sample{};
    team_->run([&](int) {
      sample = follow();
      last_cpu_ = sched_getcpu();
    });
    // The samples are too short where a stall, not the loads, made one look long enough in open().
    if (sample.duration_s < window_seconds(spec_.sampling) / 2) loads_per_sample_ *= 2;
    return sample;
  }

  LatencySpec spec_;
  Team* team_ = nullptr;
  const Region* region_ = nullptr;
  ChaseWalk walk_;
  std::uint64_t loads_per_sample_ = 0;  // Of each chase; 0: not sized yet.
  int last_cpu_ = -1;
};

}  // namespace

MakeState parse_latency(const ObjectReader& measurement) {
  LatencySpec spec{};
  spec.cpu = measurement.integer<int>("cpu");
  spec.placement = read_placement(measurement, "placement");
  spec.sampling = read_sampling(measurement);
  spec.pattern = read_chase_pattern(measurement.object("pattern"));
  spec.chases = measurement.integer<std::size_t>("chases");
  measurement.check(tables::kLatencySpecPatternSize,
                    chase_length(spec.pattern.size, spec.pattern.stride) >= spec.chases);
  return [spec] { return std::make_unique<Latency>(spec); };
}

}  // namespace tierscope
