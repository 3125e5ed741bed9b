#include "protocol/repetition_line.h"

#include "protocol/json_text.h"
#include "protocol/object_reader.h"

namespace tierscope {
namespace {

using tables::Type;

constexpr std::int64_t kDay = 86400;
constexpr tables::Field kAddPlanFields[] = {{.name = "plan", .required = true}};
constexpr tables::Table kAddPlan{kAddPlanFields};
constexpr tables::Field kRepetitionFields[] = {
    {.name = "repetition", .required = true, .type = Type::kText},
    {.name = "seconds",
     .required = true,
     .type = Type::kNumber,
     .least = std::int64_t{0},
     .above = true,
     .most = kDay},
    {.name = "fresh", .otherwise = false, .type = Type::kBoolean}};
constexpr tables::Table kRepetition{kRepetitionFields};

}  // namespace

RepetitionLine parse_repetition_line(std::string_view line) {
  const nlohmann::json value = parse_json(line, "line");
  if (value.is_object() && value.contains("plan")) {
    return AddPlan{ObjectReader(value, "line", kAddPlan).any("plan")};
  }
  const ObjectReader reader(value, "line", kRepetition);
  return RepetitionRequest{.id = reader.text("repetition"),
                           .seconds = reader.number("seconds"),
                           .fresh = reader.boolean("fresh")};
}

}  // namespace tierscope
