#include "protocol/visit_line.h"

#include "protocol/json_text.h"
#include "protocol/object_reader.h"

namespace tierscope {

VisitLine parse_visit_line(std::string_view line) {
  constexpr double kDay = 86400;
  const nlohmann::json value = parse_json(line, "line");
  ObjectReader reader(value, "line");
  if (reader.has("plan")) {
    AddPlan added{reader.any("plan")};
    reader.finish();
    return added;
  }
  VisitRequest request{.id = reader.text("visit"),
                       .seconds = reader.positive("seconds", kDay),
                       .fresh = reader.has("fresh") && reader.truth("fresh")};
  reader.finish();
  return request;
}

}  // namespace tierscope
