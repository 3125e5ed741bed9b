// The parsers of all kinds, each in the file of its name.
#pragma once

#include "benches/bench.h"

namespace tierscope {

Job parse_bandwidth(ObjectReader& measurement);
Job parse_latency(ObjectReader& measurement);

}  // namespace tierscope
