// What this build can measure on this machine and, for what it can't, why and what to do.
#pragma once

#include <nlohmann/json.hpp>

namespace tierscope {

// As Capabilities in src/tierscope/model/event.py.
nlohmann::ordered_json capabilities();

}  // namespace tierscope
