// Plans of the kinds on GPUs for the fake CUDA, and repetitions to them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/kind.h"
#include "harness/leases.h"
#include "harness/plan.h"
#include "harness/repetition.h"

namespace tierscope {

inline nlohmann::json host_memory(const std::string& memory = "pinned") {
  return {{"where", "host"},
          {"memory", memory},
          {"placement", {{"policy", "bind"}, {"nodes", nlohmann::json::array({{{"node", 0}}})}}}};
}

inline nlohmann::json memory_of(int gpu) { return {{"where", "gpu"}, {"gpu", gpu}}; }

inline nlohmann::json transfer(const nlohmann::json& source, const nlohmann::json& destination,
                               int gpu, const std::string& engine = "ce", int streams = 1) {
  const auto name = [](const nlohmann::json& place) {
    return place["where"] == "host" ? "host" : std::to_string(place["gpu"].get<int>());
  };
  return {{"name", name(source) + ">" + name(destination)},
          {"source", source},
          {"destination", destination},
          {"gpu", gpu},
          {"engine", engine},
          {"streams", streams}};
}

inline nlohmann::json common_plan() {
  return {{"cpus", {0}}, {"sampling", {{"budget_s", 0.02}, {"sample_s", 0.02}}}};
}

inline nlohmann::json copy_plan(const std::vector<nlohmann::json>& transfers) {
  nlohmann::json plan = common_plan();
  plan["pattern"] = {{"size", 256 << 10}};
  plan["transfers"] = transfers;
  return plan;
}

inline nlohmann::json memory_plan(const std::string& operation) {
  nlohmann::json plan = common_plan();
  plan["gpu"] = 0;
  plan["pattern"] = {{"operation", operation}, {"size", 64 << 10}};
  return plan;
}

inline nlohmann::json latency_plan(const nlohmann::json& memory = memory_of(0)) {
  nlohmann::json plan = common_plan();
  plan["gpu"] = 0;
  plan["memory"] = memory;
  plan["pattern"] = {{"size", 16 << 10}, {"stride", 128}};
  return plan;
}

// A measurement that can be repeated again and again.
class Repeated {
 public:
  Repeated(const std::string& kind, nlohmann::json measurement) {
    measurement.update({{"kind", kind}, {"id", "a"}, {"initiator", "gpu:0"}, {"target", "gpu:0"}});
    const nlohmann::json plan{{"version", 2},
                              {"measurements", nlohmann::json::array({measurement})}};
    make_ = parse_plan(plan).front().make;
    state_ = make_();
  }

  void exchange_by(Exchange exchange) { leases_.exchange_by(std::move(exchange)); }

  // As the engine does, on a clock that goes on by a second a look: about `samples` samples of each
  // series whose number of samples is not fixed.
  Repetition repetition(bool fresh = false, int samples = 10) {
    if (fresh) state_ = make_();
    leases_.begin_repetition(fresh);
    double clock = 0;
    const Surroundings surroundings{.now = [&clock] { return clock++; },
                                    .interrupted = [] { return false; },
                                    .stolen_seconds = [](std::span<const int>) { return 0.0; }};
    return tierscope::repetition(*state_, leases_, samples, surroundings,
                                 [](double, std::size_t, double) {});
  }

 private:
  Leases leases_;
  MakeState make_;
  std::unique_ptr<State> state_;
};

// The median of a column over all samples of a series; the first samples are no different here.
inline double median_of(const Repetition& repetition, std::size_t series, std::size_t column) {
  std::vector<double> values;
  for (const Sample& sample : repetition.series.at(series).samples)
    values.push_back(sample.values.at(column));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tierscope
