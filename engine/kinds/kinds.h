// The parsers of all kinds, each in the file of its name.
#pragma once

#include "harness/kind.h"

namespace tierscope {

MakeState parse_bandwidth(ObjectReader& measurement);
MakeState parse_latency(ObjectReader& measurement);
MakeState parse_loaded_latency(ObjectReader& measurement);
MakeState parse_streams(ObjectReader& measurement);
MakeState parse_atomics(ObjectReader& measurement);
MakeState parse_mapping(ObjectReader& measurement);
MakeState parse_gpu_copy(ObjectReader& measurement);
MakeState parse_gpu_memory(ObjectReader& measurement);
MakeState parse_gpu_latency(ObjectReader& measurement);

}  // namespace tierscope
