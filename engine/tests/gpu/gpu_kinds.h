// Plans of the kinds on GPUs for the fake CUDA, and visits to them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/kind.h"
#include "harness/leases.h"
#include "harness/visit.h"
#include "protocol/object_reader.h"

namespace tierscope {

// In engine/kinds/gpu_*.cpp.
MakeState parse_gpu_copy(ObjectReader& measurement);
MakeState parse_gpu_ranks(ObjectReader& measurement);
MakeState parse_gpu_memory(ObjectReader& measurement);
MakeState parse_gpu_latency(ObjectReader& measurement);

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

// A measurement that can be visited again and again.
class Visited {
 public:
  Visited(const std::string& kind, const nlohmann::json& plan) {
    ObjectReader reader(plan, "plan");
    make_ = std::ranges::find(kinds(), kind, &Kind::name)->parse(reader);
    reader.finish();
    state_ = make_();
  }

  void exchange_by(Exchange exchange) { leases_.exchange_by(std::move(exchange)); }

  // As the engine does, on a clock that goes on by a second a look: about `rows` rows of each
  // series whose number of rows is not fixed.
  Visit visit(bool fresh = false, int rows = 10) {
    if (fresh) state_ = make_();
    leases_.begin_visit(fresh);
    double clock = 0;
    const Surroundings surroundings{.now = [&clock] { return clock++; },
                                    .interrupted = [] { return false; },
                                    .stolen_seconds = [](std::span<const int>) { return 0.0; }};
    return tierscope::visit(*state_, leases_, rows, surroundings,
                            [](double, std::size_t, double) {});
  }

 private:
  Leases leases_;
  MakeState make_;
  std::unique_ptr<State> state_;
};

// The median of a column over all rows of a series; the first rows are no different here.
inline double median_of(const Visit& visit, std::size_t series, std::size_t column) {
  std::vector<double> values;
  for (const Row& row : visit.series.at(series).rows) values.push_back(row.values.at(column));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tierscope
