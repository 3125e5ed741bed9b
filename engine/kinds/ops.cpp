// Operations of databases: real data structures whose parts are placed one by one.
#include <sched.h>

#include <algorithm>
#include <any>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/ticks.h"
#include "access/timed_chase.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "kinds/evidence.h"
#include "kinds/ops_structures.h"
#include "kinds/window_sample.h"
#include "protocol/constants.h"
#include "protocol/plan_parts.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

struct OpsSpec {
  std::vector<int> cpus;
  StructureKind structure;
  std::vector<Placement> placements;  // Of its parts.
  SamplingRule sampling;
  Pages pages;
  std::uint64_t sample_every;  // Of so many units, one is timed.
  MakeStructure make;
};

// What a region holds: a part of what one measurement built.
struct Built {
  std::shared_ptr<const int> by;
  std::size_t part;
};

class Ops : public State {
 public:
  explicit Ops(const OpsSpec& spec) : spec_(spec), durations_(spec.cpus.size()) {
    for (std::size_t thread = 0; thread < spec_.cpus.size(); ++thread) {
      working_.push_back(
          {.work = [this, thread](std::uint64_t units) { structure_->work(thread, units); }});
      timing_.push_back({.work = [this, thread](std::uint64_t turns) { time(thread, turns); }});
    }
  }

  void open(Leases& leases) override {
    if (structure_ == nullptr) structure_ = spec_.make();
    team_ = &leases.team(spec_.cpus);
    std::vector<RegionKey> keys;
    for (const database::Part& part : structure_->parts()) {
      keys.push_back(
          {.bytes = part.bytes, .pages = spec_.pages, .placement = spec_.placements[keys.size()]});
    }
    const std::vector<Lease> parts = leases.regions(
        keys, *team_,
        [this](std::size_t part, const std::any& found) { return holds(found, part); });
    build(parts);
    if (!sized_ && structure_->units_per_sample() == 0) {
      size_chunks(*team_, working_, window_s());
      size_chunks(*team_, timing_, window_s());
    }
    sized_ = true;
  }

  std::vector<Series> series() override {
    std::vector<Series> found{{.name = "windows",
                               .columns = {{.metric = "operations", .part = ""},
                                           {.metric = "time_per_operation", .part = ""}},
                               .take = [this] { return take(working_, 1); },
                               .watched_cpus = spec_.cpus}};
    if (structure_->input_bytes() > 0) {
      found.front().columns.push_back({.metric = "bandwidth", .part = "input"});
    }
    if (structure_->timed()) {
      found.push_back({.name = "timed",
                       .columns = {{.metric = "operations", .part = "timed"}},
                       .take = [this] { return take_timed(); },
                       .watched_cpus = spec_.cpus,
                       .distributions = {{.metric = "operation_latency", .part = ""}}});
    }
    return found;
  }

  void observe(nlohmann::ordered_json& evidence) override {
    evidence = region_evidence(regions_, {}, spec_.structure.parts);
    evidence["cpus"] = cpus_of(working_);
    evidence["isa"] = structure_->isa();
    evidence["timer_ns"] = timer_cost_ticks() * timer_tick_ns();
    evidence["verified"] = structure_->verify(on_threads());
  }

 private:
  double window_s() const { return window_seconds(spec_.sampling); }

  database::OnThreads on_threads() {
    return [this](const std::function<void(std::size_t)>& work) {
      team_->run([&](int thread) { work(static_cast<std::size_t>(thread)); });
    };
  }

  bool holds(const std::any& found, std::size_t part) const {
    const auto* const built = std::any_cast<Built>(&found);
    return built != nullptr && built_ != nullptr && built->by == built_ && built->part == part;
  }

  // Builds anew unless every part is as this measurement left it.
  void build(const std::vector<Lease>& parts) {
    bool kept = true;
    regions_.clear();
    std::vector<std::span<std::byte>> memory;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const Region* const region = parts[part].region;
      kept = kept && holds(parts[part].found, part);
      regions_.push_back(region);
      memory.emplace_back(region->data(), region->size());
    }
    if (!kept) {
      structure_->build(memory, on_threads());
      built_ = std::make_shared<const int>();
    }
    for (std::size_t part = 0; part < parts.size(); ++part) {
      *parts[part].contents = Built{built_, part};
    }
  }

  // Does `turns` times as many units as one of which is timed.
  void time(std::size_t thread, std::uint64_t turns) {
    const double tick_ns = timer_tick_ns();
    for (; turns > 0; --turns) {
      structure_->work(thread, spec_.sample_every - 1);
      const std::uint64_t before = ticks_before();
      structure_->work(thread, 1);
      const auto ticks = static_cast<double>(ticks_after() - before);
      durations_[thread].record(static_cast<std::uint64_t>(std::llround(ticks * tick_ns)));
    }
  }

  // A sample of these workers, a unit of whose work is so many of the structure.
  Sample take(std::vector<Worker>& workers, std::uint64_t units) {
    const std::uint64_t fixed = structure_->units_per_sample();
    Sample sample = fixed == 0 ? window_sample(*team_, workers, window_s())
                               : fixed_sample(workers, fixed / units);
    const double each = static_cast<double>(units * structure_->operations_per_unit());
    const double operations = units_in_window(workers) * each / sample.duration_s;
    sample.values = {operations, static_cast<double>(workers.size()) * 1e9 / operations};
    if (const std::size_t bytes = structure_->input_bytes(); bytes > 0) {
      sample.values.push_back(operations * static_cast<double>(bytes));
    }
    return sample;
  }

  // All do so much, from one barrier on; the sample lasts until the last of them is done.
  Sample fixed_sample(std::vector<Worker>& workers, std::uint64_t amount) {
    structure_->prepare_sample(on_threads());
    std::vector<double> ends(workers.size());
    Sample sample{};
    team_->run([&](int number) {
      const auto thread = static_cast<std::size_t>(number);
      Worker& worker = workers[thread];
      const double start = team_->pass_gate();
      const LostTime lost(start);
      worker.work(amount);
      ends[thread] = now_seconds();
      worker.done += amount;
      worker.units_in_window = static_cast<double>(amount);
      worker.last_cpu = sched_getcpu();
      worker.lost_share = lost.share();
      if (thread == 0) sample.start_s = start;
    });
    sample.duration_s = *std::ranges::max_element(ends) - sample.start_s;
    sample.lost_share = max_lost_share(workers);
    return sample;
  }

  Sample take_timed() {
    for (Histogram& durations : durations_) durations.clear();
    Sample sample = take(timing_, spec_.sample_every);
    sample.values.resize(1);
    for (std::size_t thread = 1; thread < durations_.size(); ++thread) {
      durations_.front().add(durations_[thread]);
    }
    sample.histograms = {durations_.front().counts()};
    return sample;
  }

  OpsSpec spec_;
  std::unique_ptr<database::Structure> structure_;
  std::vector<Histogram> durations_;  // One for each thread.
  std::vector<Worker> working_;
  std::vector<Worker> timing_;
  Team* team_ = nullptr;
  std::vector<const Region*> regions_;
  std::shared_ptr<const int> built_;  // Marks what this measurement built last.
  bool sized_ = false;
};

StructureKind read_structure(const ObjectReader& pattern) {
  std::vector<std::pair<std::string_view, StructureKind>> names;
  for (const StructureKind& one : structures()) names.emplace_back(one.name, one);
  return pattern.choice("structure", names);
}

// All parts go where `placement` says but those that "parts" names.
std::vector<Placement> read_parts(const ObjectReader& measurement, const StructureKind& structure) {
  std::vector<Placement> placements(structure.parts.size(),
                                    read_placement(measurement, "placement"));
  for (const auto& [name, placement] : measurement.named_objects("parts")) {
    const auto part = std::ranges::find(structure.parts, name);
    measurement.check(tables::kOpsSpecParts, part != structure.parts.end(), structure.name);
    placements[static_cast<std::size_t>(part - structure.parts.begin())] =
        read_placement(placement);
  }
  return placements;
}

}  // namespace

MakeState parse_ops(const ObjectReader& measurement) {
  OpsSpec spec{};
  spec.cpus = measurement.integers("cpus");
  spec.sampling = read_sampling(measurement);
  const ObjectReader pattern = measurement.object("pattern");
  spec.structure = read_structure(pattern);
  spec.pages = read_pages(pattern);
  spec.sample_every = pattern.integer<std::uint64_t>("sample_every");
  const std::uint64_t fewest = fewest_keys(pattern.text("operation")) * spec.cpus.size();
  measurement.check(tables::kOpsSpecPatternKeys, pattern.integer<std::uint64_t>("keys") >= fewest,
                    fewest, spec.cpus.size());
  spec.make = spec.structure.read(pattern, spec.cpus.size());
  spec.placements = read_parts(measurement, spec.structure);
  return [spec] { return std::make_unique<Ops>(spec); };
}

}  // namespace tierscope
