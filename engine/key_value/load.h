// `tierscope-engine key-value-load`: the load of a key-value server, and what is measured of it.
#pragma once

#include <string>
#include <vector>

namespace tierscope::key_value {

// Fills or loads a server as options.h says. Returns the lines to print, "NAME: NUMBER UNIT" each.
// Throws Unavailable where the options are wrong, Failure where the server answers wrongly, goes
// away or does not keep up.
std::string key_value_load(const std::vector<std::string>& words);

}  // namespace tierscope::key_value
