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
#include "kinds/window_row.h"
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
    if (!sized_ && structure_->units_per_row() == 0) {
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

  // A row of these workers, a unit of whose work is so many of the structure.
  Row take(std::vector<Worker>& workers, std::uint64_t units) {
    const std::uint64_t fixed = structure_->units_per_row();
    Row row =
        fixed == 0 ? window_row(*team_, workers, window_s()) : fixed_row(workers, fixed / units);
    const double each = static_cast<double>(units * structure_->operations_per_unit());
    const double operations = units_in_window(workers) * each / row.duration_s;
    row.values = {operations, static_cast<double>(workers.size()) * 1e9 / operations};
    if (const std::size_t bytes = structure_->input_bytes(); bytes > 0) {
      row.values.push_back(operations * static_cast<double>(bytes));
    }
    return row;
  }

  // All do so much, from one gate on; the row lasts until the last of them is done.
  Row fixed_row(std::vector<Worker>& workers, std::uint64_t amount) {
    structure_->prepare_row(on_threads());
    std::vector<double> ends(workers.size());
    Row row{};
    team_->run([&](int number) {
      const auto thread = static_cast<std::size_t>(number);
      Worker& worker = workers[thread];
      const double start = team_->pass_gate();
      const LostTime lost;
      worker.work(amount);
      ends[thread] = now_seconds();
      worker.done += amount;
      worker.units_in_window = static_cast<double>(amount);
      worker.last_cpu = sched_getcpu();
      worker.lost_share = lost.share();
      if (thread == 0) row.start_s = start;
    });
    row.duration_s = *std::ranges::max_element(ends) - row.start_s;
    row.lost_share = max_lost_share(workers);
    return row;
  }

  Row take_timed() {
    for (Histogram& durations : durations_) durations.clear();
    Row row = take(timing_, spec_.sample_every);
    row.values.resize(1);
    for (std::size_t thread = 1; thread < durations_.size(); ++thread) {
      durations_.front().add(durations_[thread]);
    }
    row.histograms = {durations_.front().counts()};
    return row;
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

// Keys of a pattern that may be null, which is the same as leaving them out.
constexpr std::array kOptional{"zipf_alpha",  "keys_file", "scan_length", "inner_node",
                               "leaf_node",   "key_bytes", "selectivity", "found",
                               "probe_ratio", "misses",    "partitions",  "runs",
                               "ratio"};

nlohmann::json without_nulls(nlohmann::json pattern) {
  for (const char* const key : kOptional) {
    if (pattern.is_object() && pattern.contains(key) && pattern[key].is_null()) pattern.erase(key);
  }
  return pattern;
}

StructureKind read_structure(ObjectReader& pattern) {
  std::vector<std::pair<std::string_view, StructureKind>> names;
  for (const StructureKind& one : structures()) names.emplace_back(one.name, one);
  return pattern.choice("structure", names);
}

// All parts go where `placement` says but those that "parts" names.
std::vector<Placement> read_parts(ObjectReader& measurement, const StructureKind& structure) {
  std::vector<Placement> placements(structure.parts.size(), read_placement(measurement));
  if (!measurement.has("parts")) return placements;
  ObjectReader parts = measurement.object("parts");
  for (std::size_t part = 0; part < placements.size(); ++part) {
    const std::string name(structure.parts[part]);
    if (parts.has(name)) {
      placements[part] = read_placement(parts, TakesPersistent::kNo, name.c_str());
    }
  }
  parts.finish();
  return placements;
}

}  // namespace

MakeState parse_ops(ObjectReader& measurement) {
  constexpr std::int64_t kMaxEvery = 1 << 12;
  constexpr std::uint64_t kUsualEvery = 64;
  OpsSpec spec{};
  spec.cpus = measurement.distinct_integers("cpus", 0, kMaxCpu, kMaxThreads);
  spec.sampling = read_sampling(measurement);
  const nlohmann::json given = without_nulls(measurement.any("pattern"));
  ObjectReader pattern(given, measurement.where() + ".pattern");
  spec.structure = read_structure(pattern);
  spec.pages = read_pages(pattern);
  spec.sample_every = kUsualEvery;
  if (pattern.has("sample_every")) {
    spec.sample_every = static_cast<std::uint64_t>(pattern.integer("sample_every", 2, kMaxEvery));
  }
  spec.make = spec.structure.read(pattern, spec.cpus.size());
  pattern.finish();
  spec.placements = read_parts(measurement, spec.structure);
  return [spec] { return std::make_unique<Ops>(spec); };
}

}  // namespace tierscope
