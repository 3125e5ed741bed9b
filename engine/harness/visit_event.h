// The event `visit`: the rows of a visit, column by column.
#pragma once

#include <string>

#include "harness/visit.h"

namespace tierscope {

// One line of JSON without its newline. Values of the whole have 10 significant digits and those of
// parts 6, since a team's threads are many; a value that is absent is null. Starts are from the
// first row on; `began_s` is when that began, by now_seconds().
std::string visit_event(const std::string& id, bool fresh, const Visit& visit);

}  // namespace tierscope
