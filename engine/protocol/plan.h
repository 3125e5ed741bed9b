// The plan that comes in on stdin; its schema is src/tierscope/model/schema/plan.schema.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "benches/bench.h"

namespace tierscope {

inline constexpr int kPlanVersion = 1;

struct Measurement {
  std::string id;
  Job job;
};

// Parses a whole plan or throws PlanError, saying where and what; nothing is measured in between.
std::vector<Measurement> parse_plan(std::string_view text);

}  // namespace tierscope
