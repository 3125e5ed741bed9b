// Idle latency: one CPU's dependent loads through a cycle over placed memory.
#include <sched.h>

#include <array>

#include "harness/kind.h"
#include "harness/leases.h"
#include "interrupt.h"
#include "kinds/chase_pattern.h"
#include "kinds/evidence.h"
#include "kinds/window_row.h"
#include "protocol/plan_parts.h"
#include "sampling/clock.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

struct LatencySpec {
  int cpu;
  Placement placement;
  SamplingRule sampling;
  ChasePattern pattern;
};

class Latency : public State {
 public:
  explicit Latency(const LatencySpec& spec) : spec_(spec) {}

  void open(Leases& leases) override {
    team_ = &leases.team(std::array{spec_.cpu});
    const std::array key{spec_.pattern.key(spec_.placement)};
    const Lease lease = leases.regions(key, *team_).front();
    region_ = lease.region;
    const double wanted = window_seconds(spec_.sampling);
    team_->run([&](int) {
      link_walk(spec_.pattern, lease, walk_);
      if (loads_per_row_ != 0) return;
      loads_per_row_ = kChaseUnroll;
      while (follow().duration_s < wanted && !interrupted()) loads_per_row_ *= 2;
    });
  }

  std::vector<Series> series() override {
    return {{.name = "loads",
             .columns = {{.metric = "latency", .part = ""}},
             .take = [this] { return take(); },
             .watched_cpus = {spec_.cpu}}};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    evidence = region_evidence({region_});
    evidence["cpus"] = {last_cpu_};
    evidence["walked_bytes"] = chased_bytes(spec_.pattern, walk_.loads);
  }

 private:
  // Follows the links of one row.
  Row follow() {
    const LostTime lost;
    const double start = now_seconds();
    walk_.at = follow_chase(walk_.at, loads_per_row_);
    const double seconds = now_seconds() - start;
    walk_.loads += loads_per_row_;
    return {.start_s = start,
            .duration_s = seconds,
            .values = {seconds * 1e9 / static_cast<double>(loads_per_row_)},
            .lost_share = lost.share()};
  }

  Row take() {
    Row row{};
    team_->run([&](int) {
      row = follow();
      last_cpu_ = sched_getcpu();
    });
    // The rows are too short where a stall, not the loads, made one look long enough in open().
    if (row.duration_s < window_seconds(spec_.sampling) / 2) loads_per_row_ *= 2;
    return row;
  }

  LatencySpec spec_;
  Team* team_ = nullptr;
  const Region* region_ = nullptr;
  ChaseWalk walk_;
  std::uint64_t loads_per_row_ = 0;  // 0: not sized yet.
  int last_cpu_ = -1;
};

}  // namespace

MakeState parse_latency(ObjectReader& measurement) {
  LatencySpec spec{};
  spec.cpu = static_cast<int>(measurement.integer("cpu", 0, kMaxCpu));
  spec.placement = read_placement(measurement);
  spec.sampling = read_sampling(measurement);
  spec.pattern = read_chase_pattern(measurement);
  return [spec] { return std::make_unique<Latency>(spec); };
}

}  // namespace tierscope
