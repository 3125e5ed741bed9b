#include "protocol/json_text.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "protocol/object_reader.h"

namespace tierscope {

using nlohmann::json;

// nlohmann's parser keeps the last of two equal keys; a plan that says a thing twice is refused.
json parse_json(std::string_view text, std::string_view what) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!open.back().insert(key).second) twice = key;
    }
    return true;
  };
  json value;
  try {
    value = json::parse(text, watch);
  } catch (const json::exception& error) {
    throw PlanError(std::string(what), fmt::format("is not JSON: {}", error.what()));
  }
  if (!twice.empty()) {
    throw PlanError(std::string(what), fmt::format("has the key '{}' twice", twice));
  }
  return value;
}

}  // namespace tierscope
