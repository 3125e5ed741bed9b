#include "protocol/exchange.h"

#include <optional>

#include "errors.h"
#include "interrupt.h"
#include "protocol/events.h"
#include "protocol/json_text.h"
#include "protocol/object_reader.h"

namespace tierscope {

std::vector<nlohmann::json> exchange(const std::string& id, const nlohmann::json& said,
                                     LineReader& lines) {
  constexpr std::size_t kMaxRanks = 1 << 16;
  events::exchange(id, said);
  const std::optional<std::string> line = lines.next();
  if (interrupted()) throw Interrupted();
  if (!line) throw Failure("the input ended in the middle of an exchange");
  const nlohmann::json value = parse_json(*line, "line");
  ObjectReader reader(value, "line");
  if (reader.has("lost")) {
    const std::string why = reader.text("lost");
    reader.finish();
    throw Failure(why);
  }
  const nlohmann::json all = reader.array("exchanged", kMaxRanks);
  reader.finish();
  return {all.begin(), all.end()};
}

}  // namespace tierscope
