// The event `repetition`: the samples of a repetition, column by column.
#pragma once

#include <string>

#include "harness/repetition.h"

namespace tierscope {

// One line of JSON without its newline. Values of the whole have 10 significant digits and those of
// parts 6, since a team's threads are many; a value that is absent is null. Starts are from the
// first sample on; `began_s` is when that began, by now_seconds().
std::string repetition_event(const std::string& id, bool fresh, const Repetition& repetition);

}  // namespace tierscope
