// A plan's measurements with what their kinds make of them.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/kind.h"

namespace tierscope {

struct Measurement {
  std::string id;
  double
      budget_s;  // Seconds of all repetitions; of the one repetition where nobody schedules them.
  MakeState make;
};

// Parses a whole plan or throws PlanError, saying where and what. `in_use` says which ids an
// earlier plan of this process has.
std::vector<Measurement> parse_plan(
    const nlohmann::json& plan,
    const std::function<bool(const std::string& id)>& in_use = [](const auto&) { return false; });

}  // namespace tierscope
