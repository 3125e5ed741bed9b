// `tierscope-engine key-value-load`: the load of a key-value server, and what is measured of it.
#pragma once

#include <string>
#include <vector>

#include "key_value/worker.h"

namespace tierscope::key_value {

// Why the figures of an open loop of `rate` requests a second say nothing, as the server did not
// keep up: it answered less than 0.98 of what was due, not counting the `in_flight` requests that
// may wait for answers at any time, or the load fell further and further behind its schedule.
// Empty: it kept up.
std::string not_kept_up(const OpenLoop& loop, double rate, double seconds, std::uint64_t in_flight);

// Fills or loads a server as options.h says. Returns the lines to print, "NAME: NUMBER UNIT" each.
// Throws Unavailable where the options are wrong, Failure where the server answers wrongly, goes
// away or does not keep up.
std::string key_value_load(const std::vector<std::string>& words);

}  // namespace tierscope::key_value
