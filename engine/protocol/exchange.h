// An exchange with the engines of other processes, by an event on stdout and a line on stdin.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "protocol/line_reader.h"

namespace tierscope {

// As `Exchange` (exchange.h) says. The line is {"exchanged": [...]}, or {"lost": "why"}.
std::vector<nlohmann::json> exchange(const std::string& id, const nlohmann::json& said,
                                     LineReader& lines);

}  // namespace tierscope
