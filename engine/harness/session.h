// The measurements of one process and their repetitions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/leases.h"
#include "harness/plan.h"
#include "protocol/line_reader.h"

namespace tierscope {

class Session {
 public:
  Session() = default;
  // What measurements of several processes say goes out as events, and what others said comes from
  // `lines`.
  explicit Session(LineReader& lines) : lines_(&lines) {}

  // Adds a plan's measurements, all or none, and returns their ids in order; throws PlanError.
  std::vector<std::string> add(const nlohmann::json& plan);

  double budget_s(const std::string& id) const { return entries_.at(id).measurement.budget_s; }

  // Makes a repetition of a measurement and writes what came of it: the events `started`,
  // `progress`, and `repetition`, `skipped` or `failed`. Throws PlanError where there is no such
  // measurement.
  void repetition(const std::string& id, double seconds, bool fresh);

  // Forgets what a measurement keeps between repetitions.
  void close(const std::string& id) { entries_.at(id).state.reset(); }

 private:
  struct Entry {
    Measurement measurement;
    std::unique_ptr<State> state;  // From the first repetition on, until one fails.
    // That the last repetition leased; none before the first.
    std::optional<std::set<std::uint64_t>> regions;
  };

  std::string repetition_entry(Entry& entry, double seconds, bool fresh);

  LineReader* lines_ = nullptr;
  Leases leases_;
  std::map<std::string, Entry> entries_;  // Destroyed first: their states use what is leased.
};

// The commands: both write events to stdout, and return true once a signal came. `run_repetitions`
// reads plans and repetitions on stdin.
bool run_plan(const nlohmann::json& plan);
bool run_repetitions();

}  // namespace tierscope
