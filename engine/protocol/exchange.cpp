#include "protocol/exchange.h"

#include <optional>

#include "errors.h"
#include "interrupt.h"
#include "protocol/events.h"
#include "protocol/json_text.h"
#include "protocol/object_reader.h"

namespace tierscope {
namespace {

using tables::Type;

constexpr tables::Field kAnything[] = {{.type = Type::kAny}};
constexpr tables::Field kExchangeFields[] = {{.name = "exchanged",
                                              .nullable = true,
                                              .type = Type::kArray,
                                              .shortest = 1,
                                              .longest = 1 << 16,
                                              .element = kAnything},
                                             {.name = "lost", .type = Type::kText}};
constexpr tables::Test kLost[] = {{"lost", tables::Test::Kind::kGiven, {}}};
constexpr tables::Value kNone[] = {std::monostate{}};
constexpr tables::Test kNeither[] = {{"exchanged", tables::Test::Kind::kIn, kNone}};
constexpr tables::Rule kRules[] = {{"exchanged", "is missing", kNeither, kLost},
                                   {"lost", "goes with nothing else", kLost, kNeither}};
constexpr tables::Table kExchange{kExchangeFields, kRules};

}  // namespace

std::vector<nlohmann::json> exchange(const std::string& id, const nlohmann::json& said,
                                     LineReader& lines) {
  events::exchange(id, said);
  const std::optional<std::string> line = lines.next();
  if (interrupted()) throw Interrupted();
  if (!line) throw Failure("the input ended in the middle of an exchange");
  const nlohmann::json value = parse_json(*line, "line");
  const ObjectReader reader(value, "line", kExchange);
  if (reader.has("lost")) throw Failure(reader.text("lost"));
  const nlohmann::json& all = reader.any("exchanged");
  return {all.begin(), all.end()};
}

}  // namespace tierscope
