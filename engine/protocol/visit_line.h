// A line that `tierscope-engine visits` reads: measurements to add, or a visit of one of them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

namespace tierscope {

struct AddPlan {
  nlohmann::json plan;
};

struct VisitRequest {
  std::string id;
  double seconds;  // Above 0, a day at most.
  bool fresh;      // On new pages.
};

using VisitLine = std::variant<AddPlan, VisitRequest>;

// Throws PlanError where the line is neither.
VisitLine parse_visit_line(std::string_view line);

}  // namespace tierscope
