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
  std::size_t chases;
};

constexpr double kLineBytes = 64;

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
      if (loads_per_row_ != 0) return;
      loads_per_row_ = kChaseUnroll;
      while (follow().duration_s < wanted && !interrupted()) loads_per_row_ *= 2;
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
  // Follows the links of one row: a load's latency, and where several chases overlap, the time that
  // each of all their loads adds and the bytes of lines that they bring.
  Row follow() {
    const LostTime lost;
    const double start = now_seconds();
    follow_chases(walk_.at, loads_per_row_);
    const double seconds = now_seconds() - start;
    const std::uint64_t loads = loads_per_row_ * spec_.chases;
    walk_.loads += loads;
    Row row{.start_s = start,
            .duration_s = seconds,
            .values = {seconds * 1e9 / static_cast<double>(loads_per_row_)},
            .lost_share = lost.share()};
    if (spec_.chases > 1) {
      row.values.push_back(seconds * 1e9 / static_cast<double>(loads));
      row.values.push_back(static_cast<double>(loads) * kLineBytes / seconds);
    }
    return row;
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
  std::uint64_t loads_per_row_ = 0;  // Of each chase; 0: not sized yet.
  int last_cpu_ = -1;
};

}  // namespace

MakeState parse_latency(ObjectReader& measurement) {
  LatencySpec spec{};
  spec.cpu = static_cast<int>(measurement.integer("cpu", 0, kMaxCpu));
  spec.placement = read_placement(measurement, TakesPersistent::kArrays);
  spec.sampling = read_sampling(measurement);
  spec.pattern = read_chase_pattern(measurement);
  spec.chases = 1;
  if (measurement.has("chases")) {
    spec.chases = static_cast<std::size_t>(measurement.integer("chases", 1, kMaxChases));
  }
  if (chase_length(spec.pattern.size, spec.pattern.stride) < spec.chases) {
    throw measurement.error("chases", "is more than the region has lines");
  }
  return [spec] { return std::make_unique<Latency>(spec); };
}

}  // namespace tierscope
