#include "harness/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "protocol/object_reader.h"
#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

constexpr std::size_t kMaxMeasurements = 100'000;
constexpr std::size_t kMaxIdLength = 64;

bool is_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxIdLength && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  });
}

Measurement parse_measurement(const nlohmann::json& value, const std::string& where) {
  ObjectReader reader(value, where);
  std::string id = reader.text("id");
  if (!is_id(id)) {
    throw reader.error("id", "is not 1 to 64 letters, digits, dots, colons, '_' and '-'");
  }
  std::vector<std::pair<std::string_view, MakeState (*)(ObjectReader&)>> parsers;
  for (const Kind& kind : kinds()) parsers.emplace_back(kind.name, kind.parse);
  const auto parse = reader.choice("kind", parsers);
  reader.text("initiator");  // Endpoints as asked for: the caller's own labels.
  reader.text("target");
  if (reader.has("placement")) read_prefetchers(reader);  // Memory that CPUs reach.
  const double budget_s = read_sampling(reader).budget_s;
  MakeState make = parse(reader);
  reader.finish();
  return {.id = std::move(id), .budget_s = budget_s, .make = std::move(make)};
}

}  // namespace

std::vector<Measurement> parse_plan(const nlohmann::json& plan,
                                    const std::function<bool(const std::string& id)>& in_use) {
  ObjectReader reader(plan, "plan");
  reader.integer("version", kPlanVersion, kPlanVersion);
  std::vector<Measurement> measurements;
  std::set<std::string> ids;
  for (const nlohmann::json& measurement : reader.array("measurements", kMaxMeasurements)) {
    const std::string where = fmt::format("measurements[{}]", measurements.size());
    measurements.push_back(parse_measurement(measurement, where));
    const std::string& id = measurements.back().id;
    if (!ids.insert(id).second || in_use(id)) {
      throw PlanError(where, fmt::format("the id '{}' is used twice", id));
    }
  }
  reader.finish();
  return measurements;
}

}  // namespace tierscope
