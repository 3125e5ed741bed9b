// The parsers of all kinds, each in the file of its name.
#pragma once

#include "benches/bench.h"

namespace tierscope {

Job parse_bandwidth(ObjectReader& measurement);
Job parse_latency(ObjectReader& measurement);
Job parse_loaded_latency(ObjectReader& measurement);
Job parse_streams(ObjectReader& measurement);
Job parse_atomics(ObjectReader& measurement);
Job parse_mapping(ObjectReader& measurement);
Job parse_gpu_copy(ObjectReader& measurement);
Job parse_gpu_memory(ObjectReader& measurement);
Job parse_gpu_latency(ObjectReader& measurement);

}  // namespace tierscope
