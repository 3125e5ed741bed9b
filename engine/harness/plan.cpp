#include "harness/plan.h"

#include <fmt/format.h>

#include <utility>

#include "protocol/object_reader.h"
#include "protocol/plan_parts.h"

namespace tierscope {
namespace {

MakeState parse_measurement(const ObjectReader& reader) {
  std::vector<std::pair<std::string_view, MakeState (*)(const ObjectReader&)>> parsers;
  for (const Kind& kind : kinds()) parsers.emplace_back(kind.name, kind.parse);
  return reader.choice("kind", parsers)(reader);
}

}  // namespace

std::vector<Measurement> parse_plan(const nlohmann::json& plan,
                                    const std::function<bool(const std::string& id)>& in_use) {
  const ObjectReader reader(plan, "", tables::plan());
  std::vector<Measurement> measurements;
  for (const ObjectReader& measurement : reader.objects("measurements")) {
    std::string id = measurement.text("id");
    if (in_use(id)) throw measurement.error("id", fmt::format("'{}' is used twice", id));
    measurements.push_back({.id = std::move(id),
                            .budget_s = read_sampling(measurement).budget_s,
                            .make = parse_measurement(measurement)});
  }
  return measurements;
}

}  // namespace tierscope
