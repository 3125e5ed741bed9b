// What the kinds on GPUs share: parts of their plans, and rows of what was measured.
#pragma once

#include <utility>

#include "gpu/measuring.h"
#include "gpu/specs.h"
#include "harness/kind.h"
#include "protocol/object_reader.h"

namespace tierscope {

inline constexpr int kMaxGpu = 1023;
inline constexpr std::int64_t kMaxGpuBytes = std::int64_t{1} << 42;

// The keys "cpus", "sampling" and "trace" of a measurement.
GpuCommon read_gpu_common(ObjectReader& measurement);

// The key `key`: {"where": "gpu", "gpu": 0} or {"where": "host", "memory": "pinned", ...}.
MemoryPlace read_memory_place(ObjectReader& reader, std::string_view key);

// The keys "engine" and "streams" of a transfer.
CopyEngine read_copy_engine(ObjectReader& transfer);
int read_streams(ObjectReader& transfer);

inline Row row_of(GpuSample sample) {
  return {.start_s = sample.start_s,
          .duration_s = sample.duration_s,
          .values = std::move(sample.values),
          .lost_share = sample.lost_share};
}

}  // namespace tierscope
