// What the engines of several processes tell each other in the middle of a visit. Whoever started
// them carries it, since an engine knows nothing of MPI.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "protocol/line_reader.h"

namespace tierscope {

// Says something to all that take part in a measurement and returns what each of them said, in the
// order of their ranks. Throws Failure where one of them is lost, Interrupted where a signal came.
using Exchange = std::function<std::vector<nlohmann::json>(const nlohmann::json& said)>;

// By an event on stdout and a line on stdin: {"exchanged": [...]}, or {"lost": "why"}.
std::vector<nlohmann::json> exchange(const std::string& id, const nlohmann::json& said,
                                     LineReader& lines);

}  // namespace tierscope
