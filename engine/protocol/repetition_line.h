// A line that `tierscope-engine repetitions` reads: measurements to add, or a repetition of one of
// them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

namespace tierscope {

struct AddPlan {
  nlohmann::json plan;
};

struct RepetitionRequest {
  std::string id;
  double seconds;  // Above 0, a day at most.
  bool fresh;      // On new pages.
};

using RepetitionLine = std::variant<AddPlan, RepetitionRequest>;

// Throws PlanError where the line is neither.
RepetitionLine parse_repetition_line(std::string_view line);

}  // namespace tierscope
