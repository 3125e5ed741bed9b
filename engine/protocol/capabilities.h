// What this build can measure on this machine and, for what it can't, why and what to do.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace tierscope {

// As Capabilities in src/tierscope/model/event.py.
// `kinds` are the names of the kinds of measurement that this build has.
nlohmann::ordered_json capabilities(std::span<const std::string> kinds);

std::string engine_version();

}  // namespace tierscope
