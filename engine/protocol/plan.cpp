#include "protocol/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "protocol/object_reader.h"

namespace tierscope {
namespace {

using nlohmann::json;

constexpr std::size_t kMostMeasurements = 100'000;
constexpr std::size_t kLongestId = 64;

bool is_id(std::string_view id) {
  return !id.empty() && id.size() <= kLongestId && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  });
}

Measurement parse_measurement(const json& value, const std::string& where) {
  ObjectReader reader(value, where);
  std::string id = reader.text("id");
  if (!is_id(id)) {
    throw reader.error("id", "is not 1 to 64 letters, digits, dots, colons, '_' and '-'");
  }
  std::vector<std::pair<std::string_view, ParseJob>> parsers;
  for (const Kind& kind : kinds()) parsers.emplace_back(kind.name, kind.parse);
  const ParseJob parse = reader.choice("kind", parsers);
  reader.text("initiator");  // Endpoints as asked for: the caller's own labels.
  reader.text("target");
  Job job = parse(reader);
  reader.finish();
  return {std::move(id), std::move(job)};
}

// nlohmann's parser keeps the last of two equal keys; a plan that says a thing twice is refused.
json parse_without_duplicates(std::string_view text) {
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
  json plan;
  try {
    plan = json::parse(text, watch);
  } catch (const json::exception& error) {
    throw PlanError("plan", fmt::format("is not JSON: {}", error.what()));
  }
  if (!twice.empty()) throw PlanError("plan", fmt::format("has the key '{}' twice", twice));
  return plan;
}

}  // namespace

std::vector<Measurement> parse_plan(std::string_view text) {
  const json value = parse_without_duplicates(text);
  ObjectReader reader(value, "plan");
  reader.integer("version", kPlanVersion, kPlanVersion);
  std::vector<Measurement> plan;
  std::set<std::string> ids;
  for (const json& measurement : reader.array("measurements", kMostMeasurements)) {
    const std::string where = fmt::format("measurements[{}]", plan.size());
    plan.push_back(parse_measurement(measurement, where));
    if (!ids.insert(plan.back().id).second) {
      throw PlanError(where, fmt::format("the id '{}' is used twice", plan.back().id));
    }
  }
  reader.finish();
  return plan;
}

}  // namespace tierscope
