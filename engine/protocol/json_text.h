// JSON as it comes in on stdin.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace tierscope {

// Parses one JSON value; throws PlanError where it is not JSON or names a key twice. `what` is what
// the text is, for the message: "plan".
nlohmann::json parse_json(std::string_view text, std::string_view what);

}  // namespace tierscope
