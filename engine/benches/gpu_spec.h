// The parts of a plan that the kinds of measurement on GPUs share.
#pragma once

#include "gpu/specs.h"
#include "protocol/object_reader.h"

namespace tierscope {

inline constexpr int kHighestGpu = 1023;
inline constexpr std::int64_t kMostGpuBytes = std::int64_t{1} << 42;

// The keys "cpus", "sampling" and "trace" of a measurement.
GpuCommon read_gpu_common(ObjectReader& measurement);

// The key `key`: {"where": "gpu", "gpu": 0} or {"where": "host", "memory": "pinned", ...}.
MemoryPlace read_memory_place(ObjectReader& reader, std::string_view key);

}  // namespace tierscope
